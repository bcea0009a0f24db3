"""The arguments of a command: flags with and without a value anywhere, and what else there is, in its order."""

from __future__ import annotations

from mcp_agent_mail.cli.agentmail.refusals import Failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class GivenArguments:
    """`values` are those of flags, by their long names; `words` what is no flag."""

    __slots__ = ("flags", "values", "words")

    def __init__(self) -> None:
        self.values: dict[str, str] = {}
        self.flags: set[str] = set()
        self.words: list[str] = []


def parse(arguments: Sequence[str], valued: Mapping[str, str], plain: Sequence[str] = ()) -> GivenArguments:
    """`valued` maps what may be written to the long name of a flag with a value, `plain` are those without one. One
    dash or two, `--flag value` or `--flag=value`. What begins with a dash behind a word is a word, unless it is a known
    flag.

    Raises Failure for a flag that there is not before the first word, and for one without its value.
    """
    given, left = GivenArguments(), list(arguments)
    while left:
        word = left.pop(0)
        if word == "--":
            given.words += left
            break
        name, has_value, value = word.lstrip("-").partition("=")
        is_flag = word.startswith("-") and word not in ("-", "--")
        if is_flag and name in valued:
            if not has_value and not left:
                raise Failure(f"flag needs an argument: -{name}")
            given.values[valued[name]] = value if has_value else left.pop(0)
        elif is_flag and name in plain and not has_value:
            given.flags.add(name)
        elif is_flag and not given.words:
            raise Failure(f"flag provided but not defined: -{name}")
        else:
            given.words.append(word)
    return given

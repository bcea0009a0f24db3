"""The arguments of a command: flags, each once, with or without a value."""

from __future__ import annotations

from mcp_agent_mail.cli.claude_mailbox.refusals import CommandRefused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence


class GivenFlags:
    """`values` are those of flags that have one, `plain` the names of those that have none."""

    __slots__ = ("_command", "plain", "values")

    def __init__(self, command: str) -> None:
        self._command = command
        self.values: dict[str, str] = {}
        self.plain: set[str] = set()

    def find(self, name: str) -> str | None:
        """None where it was not given."""
        return self.values.get(name)

    def require(self, name: str) -> str:
        """Raises CommandRefused where it was not given, or blank."""
        value = self.values.get(name, "")
        if not value.strip():
            raise CommandRefused(f"claude-mailbox {self._command}: --{name} is required.")
        return value

    def number(self, name: str, default: float) -> float:
        """Raises CommandRefused for what is no number, and one below zero."""
        text = self.values.get(name)
        try:
            value = default if text is None else float(text)
        except ValueError:
            value = -1.0
        if not 0 <= value < float("inf"):
            raise CommandRefused(f"claude-mailbox {self._command}: --{name} takes a number, not {text!r:.40}.")
        return value


def parse_flags(
    command: str, arguments: Sequence[str], *, valued: Collection[str] = (), plain: Collection[str] = ()
) -> GivenFlags:
    """`--flag value` or `--flag=value`; every command takes `--url`. Raises CommandRefused for anything else."""
    given, left, valued = GivenFlags(command), list(arguments), {*valued, "url"}
    while left:
        word = left.pop(0)
        name, has_value, value = word.removeprefix("--").partition("=")
        if not word.startswith("--") or (name not in valued and (name not in plain or has_value)):
            known = ", ".join(f"--{one}" for one in sorted({*valued, *plain}))
            raise CommandRefused(f"claude-mailbox {command}: unknown argument {word!r:.100}. It takes {known}.")
        if name in plain:
            given.plain.add(name)
            continue
        if not has_value and not left:
            raise CommandRefused(f"claude-mailbox {command}: --{name} needs a value.")
        given.values[name] = value if has_value else left.pop(0)
    return given

"""What may stand where a person is typing: commands, options and words to choose from, as `am` itself knows them.

Of the commands only the one that was typed is imported, so an answer takes no longer than that command's help.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import typer

from mcp_agent_mail.cli.lazy_typer import LazyGroup
from mcp_agent_mail.core.lazy.dataclass import dataclass

_SEPARATOR = "--"
_SPLIT_OFF = "="
"""A shell that parts words at `=` (bash) hands it over as a word of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SuggestedWord:
    """A word, and in a line what it is; empty where there is nothing to say."""

    word: str
    summary: str = ""


# Typer keeps the command classes private; here and below.
def suggested_words(root: Any, words: Sequence[str]) -> list[SuggestedWord]:
    """What the last of `words`, of which there is at least one, may become, in the order of the help. Nothing where
    files are as good a guess, or where the words before it make no sense.
    """
    *before, typed = words
    before = [word for word in before if word != _SPLIT_OFF]
    typed = "" if typed == _SPLIT_OFF else typed
    command, pending, is_literal = _walk(root, before)
    if command is None or is_literal:
        return []
    head, equals, typed_value = typed.partition("=")
    if equals and head.startswith("-"):
        choices = _choices(_option(command, head), typed_value)
        return [SuggestedWord(word=f"{head}={one.word}", summary=one.summary) for one in choices]
    found = _after(command, pending, typed)
    return [one for one in found if one.word.startswith(typed)]


def _after(command: Any, pending: Any, typed: str) -> Iterable[SuggestedWord]:
    if pending is not None:
        return _choices(pending, typed)
    if typed.startswith("-"):
        return _options(command)
    return _commands(command) if hasattr(command, "commands") else _arguments(command, typed)


def _walk(root: Any, words: Sequence[str]) -> tuple[Any, Any, bool]:
    """The command that the words lead to (None: to none), the option whose value comes next, and whether `--` ended
    the options.
    """
    command, pending = root, None
    for word in words:
        if word == _SEPARATOR:
            return command, None, True
        if pending is not None:
            pending = None
        elif word.startswith("-"):
            option = _option(command, word)
            pending = option if option is not None and not option.is_flag and "=" not in word else None
        elif hasattr(command, "commands"):
            command = _below(command, word)
            if command is None:
                break
    return command, pending, False


def _below(group: Any, word: str) -> Any:
    if isinstance(group, LazyGroup):
        return group.imported(word) if word in group.entries else None
    return group.commands.get(word)


def _parameters(command: Any) -> list[Any]:
    parameters: list[Any] = command.get_params(typer.Context(command, info_name="am"))
    return [one for one in parameters if not getattr(one, "hidden", False)]


def _option(command: Any, word: str) -> Any:
    return next((one for one in _parameters(command) if word in (*one.opts, *one.secondary_opts)), None)


def _options(command: Any) -> Iterator[SuggestedWord]:
    for one in _parameters(command):
        if one.param_type_name == "option":
            yield SuggestedWord(word=max(one.opts, key=len), summary=_line(one.help))


def _commands(group: Any) -> Iterator[SuggestedWord]:
    for name, command in group.commands.items():
        if not command.hidden:
            yield SuggestedWord(word=name, summary=_line(command.short_help or command.help))


def _arguments(command: Any, typed: str) -> Iterator[SuggestedWord]:
    """Of the positional ones those that are chosen from a list."""
    for one in _parameters(command):
        if one.param_type_name == "argument":
            yield from _choices(one, typed)


def _choices(parameter: Any, typed: str) -> Iterator[SuggestedWord]:
    choices = getattr(getattr(parameter, "type_descriptor", None), "choices", None) or ()
    return (SuggestedWord(word=str(word)) for word in choices if str(word).startswith(typed))


def _line(text: str | None) -> str:
    """The first line, in which nothing is that a shell would part."""
    return " ".join((text or "").strip().partition("\n")[0].split())

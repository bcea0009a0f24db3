"""Arguments that the command line's own types do not tell apart: what is wrong with one ends a command as misuse."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import typer

from mcp_agent_mail.core.errors import InvalidInput
from mcp_agent_mail.core.escaping import visible
from mcp_agent_mail.core.home_folder import expand_home


class UsageMistake(typer.BadParameter):
    """Arguments of which each is fit, and which make no command together: no value is said to be wrong. Exit code 2."""

    def format_message(self) -> str:
        return self.message


_SHOWN_BYTES = 100
_RUNS = ("run", "am-run")
"""Commands that run another, whose arguments come behind `--` and are its own."""


def not_text(arguments: Sequence[str]) -> str | None:
    """Which of a command's arguments is no UTF-8, as a sentence; None where all are. No name, path or text that is sent
    to a server is made of other bytes.
    """
    runs = bool(arguments) and arguments[0] in _RUNS and "--" in arguments
    ours = arguments[: arguments.index("--")] if runs else arguments
    for place, argument in enumerate(ours, start=1):
        if any("\ud800" <= letter <= "\udfff" for letter in argument):
            shown = os.fsencode(argument)[:_SHOWN_BYTES].decode(errors="backslashreplace")
            return f"Argument {place} is not UTF-8: {visible(shown)}"
    return None


@contextmanager
def reading_argument(name: str) -> Iterator[None]:
    """What is refused inside as no such value is told of the argument `name`, with the command's usage: exit code 2."""
    try:
        yield
    except InvalidInput as refused:
        raise typer.BadParameter(refused.text, param_hint=name) from refused


def given_path(text: str, name: str) -> Path:
    """The path that was given as `name`, for shells leave `~` alone in quotes: one's own home, or another user's.

    Whoever is no user is told of with the command's usage: exit code 2.
    """
    text = expand_home(text, os.environ)
    if not text.startswith("~"):
        return Path(text)
    try:
        return Path(text).expanduser()
    except RuntimeError as nobody:
        user = text[1:].partition("/")[0]
        raise typer.BadParameter(
            f"{text}: there is no user {user}. If it is a name in this folder, write ./{text}", param_hint=name
        ) from nobody

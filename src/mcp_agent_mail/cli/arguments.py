"""Arguments that the command line's own types do not tell apart: what is wrong with one ends a command as misuse."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import typer

from mcp_agent_mail.core.errors import InvalidInput


class Misuse(typer.BadParameter):
    """Arguments of which each is fit, and which make no command together: no value is said to be wrong. Exit code 2."""

    def format_message(self) -> str:
        return self.message


@contextmanager
def reading_argument(name: str) -> Iterator[None]:
    """What is refused inside as no such value is told of the argument `name`, with the command's usage: exit code 2."""
    try:
        yield
    except InvalidInput as refused:
        raise typer.BadParameter(refused.text, param_hint=name) from refused

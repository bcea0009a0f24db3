"""The next step of whoever mistook a command line: where an option goes, and what a command takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

_TOO_MANY = "Got unexpected extra argument"
"""How Typer begins; its class for it is that of every other mistake."""


# Typer keeps the command, context and parameter classes private, here and below.
def tell_place_of_option(group: Any, ctx: Any, error: Any, args: Sequence[str]) -> None:
    """Of an option that a group has not and the command named behind it has: say it there."""
    name = getattr(error, "option_name", "")
    if not name or not hasattr(error, "possibilities"):
        return
    for command, path in _commands_named(group, ctx.command_path, args):
        for parameter in options_of(command, ctx):
            if name in (*parameter.opts, *parameter.secondary_opts):
                value = "" if parameter.is_flag else f" {parameter.metavar or parameter.name.upper()}"
                error.next_step = f"{path} {name}{value}"
                error.message = f"{name} goes behind the command: {error.next_step}"
                error.possibilities = None
                return


def _commands_named(group: Any, path: str, args: Sequence[str]) -> list[tuple[Any, str]]:
    """The commands that the words lead to, whatever else stands between them, the last first."""
    found: list[tuple[Any, str]] = []
    command = group
    for word in args:
        below = command.command_named(word) if hasattr(command, "command_named") else None
        if below is not None:
            command, path = below, f"{path} {word}"
            found.append((command, path))
    return found[::-1]


def tell_what_is_taken(command: Any, ctx: Any, error: Any) -> None:
    """Of a word too many, and of an option that is like none: the options that the command has."""
    is_unlike = hasattr(error, "possibilities") and not error.possibilities
    said = str(getattr(error, "message", ""))
    if not is_unlike and not said.startswith(_TOO_MANY):
        return
    names = [max(one.opts, key=len) for one in options_of(command, ctx) if not one.hidden]
    names = [name for name in names if name != "--help"]
    takes = f"Its options: {', '.join(names)}." if names else "It has no options."
    error.message = f"{said}. {takes}"


def options_of(command: Any, ctx: Any) -> list[Any]:
    return [one for one in command.get_params(ctx) if one.param_type_name == "option"]

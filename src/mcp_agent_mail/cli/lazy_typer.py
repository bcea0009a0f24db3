"""Typer without its start-up cost: groups import their commands when asked, and values are converted without pydantic.

Typer converts every value, even an option's absence, through a pydantic adapter (0.15 s of import
for a text or a number). The commands here declare only texts, whole numbers, flags, words to choose
from and lists of these, so the standard library does. Should a Typer release drop the attribute
that is set here, commands work on, only slower; `tests/cli/test_startup.py` notices.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, get_args, get_origin

import typer
from typer.core import TyperCommand, TyperGroup

from mcp_agent_mail.cli.root_help import CommandSection, screen
from mcp_agent_mail.core.lazy.dataclass import dataclass


class PlainConversion:
    """What Typer calls to turn one parameter's words into its value."""

    def __init__(self, annotation: object) -> None:
        self._annotation = _one_of(annotation)

    # Typer's own signature: parameter and context are only used to word the error.
    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        if param.multiple or param.nargs == -1:
            return [] if value is None else [self._convert(item, param, ctx) for item in value]
        return None if value is None else self._convert(value, param, ctx)

    def _convert(self, value: object, param: Any, ctx: Any) -> object:
        if self._annotation is int:
            return _whole_number(value, param, ctx)
        if choices := getattr(param.type_descriptor, "choices", None):
            word = str(value).strip().lower()
            if word not in choices:
                raise typer.BadParameter(f"{value!r} is not one of {', '.join(choices)}.", ctx=ctx, param=param)
            return word
        return value


# Typer keeps the parameter classes private; these have the `min` and `max` that its help shows.
def _whole_number(value: object, param: Any, ctx: Any) -> int:
    try:
        number = int(str(value))
    except ValueError as unreadable:
        raise typer.BadParameter(f"{value!r} is no whole number.", ctx=ctx, param=param) from unreadable
    low, high = param.min, param.max
    if (low is not None and number < low) or (high is not None and number > high):
        bounds = f"from {low} on" if high is None else f"up to {high}" if low is None else f"{low} to {high}"
        raise typer.BadParameter(f"{number} is out of range: {bounds}.", ctx=ctx, param=param)
    return number


_PLAIN = (str, int, bool)


def _one_of(annotation: object) -> object:
    """The kind of one value, where there may be several."""
    return get_args(annotation)[0] if get_origin(annotation) is list else annotation


def _is_plain(annotation: object) -> bool:
    """Flags, texts, numbers, words to choose from, and lists of these."""
    inner = _one_of(annotation)
    return inner in _PLAIN or all(isinstance(word, str) for word in get_args(inner) or (None,))


def _convert_plainly(parameters: Sequence[Any]) -> None:
    for parameter in parameters:
        descriptor = getattr(parameter, "type_descriptor", None)
        if descriptor is not None and _is_plain(descriptor.annotation):
            parameter._runtime_param = PlainConversion(descriptor.annotation)  # noqa: SLF001  # no public way


class LeanCommand(TyperCommand):
    """A command whose parameters are converted by the standard library."""

    # Typer keeps the parameter classes private.
    def get_params(self, ctx: Any) -> list[Any]:
        parameters = super().get_params(ctx)
        _convert_plainly(parameters)
        return parameters

    # Typer keeps the parameter classes private.
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """The words that are left over. An option that is called like a positional argument is refused with the place
        where that stands, and what is too much with what is taken.
        """
        try:
            rest: list[str] = super().parse_args(ctx, args)
        except typer.TyperException as error:
            from mcp_agent_mail.cli.usage_hints import tell_what_is_taken  # a mistake alone needs it

            if not self._tell_of_argument(ctx, error):
                tell_what_is_taken(self, ctx, error)
            raise
        return rest

    def _tell_of_argument(self, ctx: Any, error: Any) -> bool:
        name = getattr(error, "option_name", "").lstrip("-").lower()
        if not name or not hasattr(error, "possibilities"):
            return False
        for parameter in self.get_params(ctx):
            metavar = str(parameter.metavar or parameter.name).rstrip(".").lower()
            if parameter.param_type_name == "argument" and name in (metavar, parameter.name):
                error.message = f"{error.message}. Say it without one: {ctx.command_path} {parameter.metavar or name}"
                error.possibilities = None
                return True
        return False


class LeanGroup(TyperGroup):
    """A group whose parameters are converted by the standard library. `instead` says of words that people try, and that
    are none of its commands, what does what they want.
    """

    instead: ClassVar[Mapping[str, str]] = {}

    # Typer keeps the command classes private.
    def command_named(self, name: str) -> Any:
        """The command, with its parameters; None where there is none."""
        return self.commands.get(name)

    # Typer keeps the parameter classes private.
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """As Typer's own; an option of a command that is said before it is refused with the place where it goes."""
        words = list(args)
        try:
            rest: list[str] = super().parse_args(ctx, args)
        except typer.TyperException as error:
            from mcp_agent_mail.cli.usage_hints import tell_place_of_option  # a mistake alone needs it

            tell_place_of_option(self, ctx, error, words)
            raise
        return rest

    # Typer keeps the command classes private.
    def meant_by(self, ctx: Any, word: str) -> str | None:
        """What does what `word` asks for, which is no command of the group; None where nothing is known to."""
        return self.instead.get(word) or (f"Run {ctx.command_path} --help." if word == "help" else None)

    # Typer keeps the command classes private.
    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """As Typer's own, which for a word that is not there names the one that is spelt most like it."""
        is_there = bool(args) and args[0] in self.commands
        if args and not is_there and (meant := self.meant_by(ctx, args[0])) is not None:
            from mcp_agent_mail.cli.arguments import UsageMistake  # help is shown without it

            raise UsageMistake(f"There is no {ctx.command_path} {args[0]}. {meant}", ctx=ctx)
        # Typer keeps the command classes private.
        found: tuple[str | None, Any, list[str]] = super().resolve_command(ctx, args)
        return found

    # Typer keeps the parameter classes private.
    def get_params(self, ctx: Any) -> list[Any]:
        parameters = super().get_params(ctx)
        _convert_plainly(parameters)
        return parameters


@dataclass(frozen=True, slots=True)
class Entry:
    """A command of the root: where its Typer app (`app`) is, its line in the root's help, and what it is for. One
    without a section is run and shows up nowhere.
    """

    module: str
    summary: str
    section: CommandSection | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OlderCommand:
    """A command by a name that people know it by from elsewhere: `words` are what is run. `said` is what they are told
    where that is not just another name.
    """

    words: Sequence[str]
    said: str = ""


class LazyGroup(LeanGroup):
    """The root: it knows its commands by name and summary (`entries`), and imports the one that is run. One that is
    asked for by a older name (`older_names`) is run with a word on stderr.
    """

    entries: ClassVar[Mapping[str, Entry]] = {}
    older_names: ClassVar[Mapping[str, OlderCommand]] = {}
    said_without: ClassVar[str] = ""
    """The group whose commands people say without its name."""

    def __init__(self, **attributes: Any) -> None:
        attributes["commands"] = {
            name: LeanCommand(
                name=name,
                help=entry.summary,
                short_help=entry.summary,
                hidden=entry.section is None,
                rich_markup_mode=None,
            )
            for name, entry in self.entries.items()
        }
        super().__init__(**attributes)

    # Typer keeps the command classes private.
    def format_help(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002  # as Typer calls it
        """All on one screen, instead of what Typer lays out."""
        listed = {
            section: {name: entry.summary for name, entry in self.entries.items() if entry.section is section}
            for section in CommandSection
        }
        formatter.write(screen(listed, width=formatter.width))

    # Typer keeps the command classes private.
    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """The command that the words name, imported if it is one of `entries`, and the words that are left for it.
        Typer's own error for a name that is not there.
        """
        name, command, rest = super().resolve_command(ctx, self._today(args))
        if name is not None and name in self.entries:
            command = self.imported(name)
        return name, command, rest

    # Typer keeps the command classes private.
    def command_named(self, name: str) -> Any:
        return self.imported(name) if name in self.entries else None

    # Typer keeps the command classes private.
    def meant_by(self, ctx: Any, word: str) -> str | None:
        group = self.command_named(self.said_without)
        is_below = group is not None and group.command_named(word) is not None
        return f"Run am {self.said_without} {word}." if is_below else super().meant_by(ctx, word)

    # Typer keeps the command classes private.
    def imported(self, name: str) -> Any:
        """The command of that name, with its parameters and, of a group, its commands."""
        command = typer.main.get_command(importlib.import_module(self.entries[name].module).app)
        command.name = name
        return command

    def _today(self, args: list[str]) -> list[str]:
        """The words with today's in the place of a older name, which is one word or two."""
        for count in (2, 1):
            name = " ".join(args[:count])
            older = self.older_names.get(name)
            if older is not None and older.words[0] in self.entries:
                said = older.said or f"It is {' '.join(('am', *older.words))} now."
                sys.stderr.write(f"Notice: {name} is an older name. {said}\n")
                return [*older.words, *args[count:]]
        return args

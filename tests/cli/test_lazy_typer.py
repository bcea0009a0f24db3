from __future__ import annotations

import sys
from typing import Annotated, Any, Literal

import pytest
import typer

from mcp_agent_mail.cli.lazy_typer import Entry, LazyGroup, LeanCommand, LeanGroup, OlderCommand
from mcp_agent_mail.cli.root_help import CommandSection

Told = list[dict[str, Any]]


@pytest.fixture
def told() -> Told:
    return []


@pytest.fixture
def app(told: Told) -> typer.Typer:
    """One command with a parameter of each kind, which notes what it was given."""
    made = typer.Typer(rich_markup_mode=None, add_completion=False, cls=LeanGroup)

    @made.callback()
    def group(label: Annotated[int, typer.Option("--label")] = 0) -> None:
        told.append({"label": label})

    @made.command(cls=LeanCommand)
    def note(
        words: Annotated[list[str] | None, typer.Argument()] = None,
        number: Annotated[int, typer.Option("--number")] = 3,
        maybe: Annotated[str | None, typer.Option("--maybe")] = None,
        at_most: Annotated[int | None, typer.Option("--at-most")] = None,
        order: Annotated[Literal["newest", "oldest"], typer.Option("--order")] = "newest",
        numbers: Annotated[list[int] | None, typer.Option("--also")] = None,
        flag: Annotated[bool, typer.Option("--flag")] = False,
    ) -> None:
        told.append({"words": words, "number": number, "order": order, "numbers": numbers, "flag": flag})
        told.append({"maybe": maybe, "at_most": at_most})

    return made


def call(app: typer.Typer, *arguments: str) -> None:
    command = typer.main.get_command(app)
    with command.make_context("am", list(arguments)) as context:
        command.invoke(context)


def test_what_is_not_given_has_its_default(app: typer.Typer, told: Told) -> None:
    call(app, "note")

    assert told == [
        {"label": 0},
        {"words": None, "number": 3, "order": "newest", "numbers": None, "flag": False},
        {"maybe": None, "at_most": None},
    ]


def test_words_become_values(app: typer.Typer, told: Told) -> None:
    call(
        *(
            app,
            "--label",
            "7",
            "note",
            "a",
            "b",
            "--number",
            "-1",
            "--maybe",
            "x",
            "--at-most",
            "4",
            "--order",
            " Oldest ",
        ),
        *("--also", "1", "--also", "2", "--flag"),
    )

    assert told == [
        {"label": 7},
        {"words": ["a", "b"], "number": -1, "order": "oldest", "numbers": [1, 2], "flag": True},
        {"maybe": "x", "at_most": 4},
    ]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("note", "--number", "seven"), "'seven' is no whole number."),
        (("note", "--also", "1", "--also", "1.5"), "'1.5' is no whole number."),
        (("note", "--order", "random"), "'random' is not one of newest, oldest."),
        (("--label", "x", "note"), "'x' is no whole number."),
    ],
)
def test_a_word_that_does_not_fit_is_a_mistake_of_the_command_line(
    app: typer.Typer, told: Told, arguments: tuple[str, ...], complaint: str
) -> None:
    with pytest.raises(typer.BadParameter, match=complaint):
        call(app, *arguments)

    assert [note for note in told if "words" in note] == []


class Root(LazyGroup):
    older_names = {  # noqa: RUF012  # likewise
        "state of": OlderCommand(words=("status",)),
        "list-acks": OlderCommand(words=("acks", "pending")),
    }
    entries = {  # noqa: RUF012  # declared so by the class itself
        "status": Entry("mcp_agent_mail.cli.commands.status", "Is it up.", CommandSection.SERVER),
        "broken": Entry("no_such_module_anywhere", "Never imported.", CommandSection.STORE),
        "unseen": Entry("no_such_module_anywhere", "Not shown."),
    }


def root() -> typer.Typer:
    made = typer.Typer(cls=Root, rich_markup_mode=None, add_completion=False)

    @made.callback()
    def nothing() -> None:
        """A group."""

    return made


def test_help_lists_commands_by_their_summaries_and_imports_none(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit):
        call(root(), "--help")

    shown = capsys.readouterr().out
    assert "status  Is it up." in shown
    assert "broken  Never imported." in shown
    assert "unseen" not in shown


def test_an_older_name_runs_the_command_of_today_and_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit):
        call(root(), "state", "of", "--help")

    told = capsys.readouterr()
    assert told.out.startswith("Usage: am status [OPTIONS]")
    assert told.err == "Notice: state of is an older name. It is am status now.\n"


def test_an_older_name_of_a_command_that_is_not_there_is_unknown(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.TyperException) as unknown:
        call(root(), "list-acks")

    assert "No such command 'list-acks'." in str(unknown.value)
    assert capsys.readouterr().err == ""


def test_the_command_that_is_run_is_imported_under_its_name(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "mcp_agent_mail.cli.commands.status", raising=False)

    with pytest.raises(typer.Exit):
        call(root(), "status", "--help")

    assert capsys.readouterr().out.startswith("Usage: am status [OPTIONS]")
    assert "mcp_agent_mail.cli.commands.status" in sys.modules


def test_a_command_that_there_is_not_is_a_mistake_with_the_nearest_one() -> None:
    with pytest.raises(typer.TyperException) as unknown:
        call(root(), "statsu")

    assert "No such command 'statsu'. Did you mean 'status'?" in str(unknown.value)


@pytest.mark.parametrize("option", ["--words", "--WORDS"])
def test_an_option_called_like_an_argument_is_refused_with_its_place(app: typer.Typer, option: str) -> None:
    with pytest.raises(typer.TyperException) as refused:
        call(app, "note", option, "x")

    assert refused.value.format_message() == f"No such option: {option}. Say it without one: am note words"


def test_any_other_unknown_option_is_refused_with_those_alike(app: typer.Typer) -> None:
    with pytest.raises(typer.TyperException) as refused:
        call(app, "note", "--numbr", "1")

    assert refused.value.format_message() == "No such option: --numbr (Possible options: --number)"

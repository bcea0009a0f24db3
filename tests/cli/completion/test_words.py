from __future__ import annotations

import pytest
import typer

from mcp_agent_mail.cli.app import ENTRIES, app
from mcp_agent_mail.cli.completion.words import suggested_words


def words_after(*words: str) -> list[str]:
    return [one.word for one in suggested_words(typer.main.get_command(app), words)]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (("comp",), ["completion"]),
        (("config", "s"), ["show", "show-port", "set-port"]),
        (("config", "show", "--e"), ["--env-file"]),
        (("mail", "search", "--order", ""), ["relevance", "newest", "oldest"]),
        (("mail", "search", "--order", "n"), ["newest"]),
        (("mail", "search", "--order", "=", "n"), ["newest"]),
        (("mail", "search", "--order", "="), ["relevance", "newest", "oldest"]),
        (("mail", "search", "--order=n"), ["--order=newest"]),
        (("mail", "--nonsense", "inb"), ["inbox"]),
        (("mail", "inbox", "--limit", "3", "--ex"), ["--exact"]),
        (("completion", ""), ["bash", "zsh", "fish"]),
        (("--v",), ["--version"]),
    ],
)
def test_what_may_follow_is_what_am_knows(words: tuple[str, ...], found: list[str]) -> None:
    assert words_after(*words) == found


def test_of_the_root_every_command_that_its_help_shows() -> None:
    assert words_after("") == [name for name, entry in ENTRIES.items() if entry.section is not None]


@pytest.mark.parametrize(
    "words",
    [
        ("config", "show", "--env-file", ""),  # A file.
        ("mail", "inbox", ""),  # A name that nobody here knows.
        ("nothing", "like", ""),
        ("mail", "nothing", ""),
        ("run", "slot", "--", "make", ""),
        ("mail", "search", "--nonsense=", ""),
    ],
)
def test_where_files_are_as_good_a_guess_nothing_is_said(words: tuple[str, ...]) -> None:
    assert words_after(*words) == []


def test_each_has_the_line_that_the_help_has() -> None:
    root = typer.main.get_command(app)

    assert {one.word: one.summary for one in suggested_words(root, ["config", "ch"])} == {
        "check": "Say what is wrong with the settings, all of it at once."
    }
    assert suggested_words(root, ["doctor"])[0].summary == ENTRIES["doctor"].summary

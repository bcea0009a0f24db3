"""What a command's help says of a number's range holds: nothing outside of it reaches the command."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from typing import Any

import pytest
import typer

from mcp_agent_mail.cli.app import ENTRIES
from tests.cli.shell import Shell

_IN_WORDS = re.compile(r"\d to \d|at least \d|at most \d|\d or more|up to \d")


def _commands(command: Any, words: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    yield words, command
    for name, below in getattr(command, "commands", {}).items():
        yield from _commands(below, (*words, name))


def _numbers() -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, entry in ENTRIES.items():
        root = typer.main.get_command(importlib.import_module(entry.module).app)
        for words, command in _commands(root, (name,)):
            for parameter in command.params:
                if parameter.param_type_name == "option" and parameter.type_descriptor.annotation is int:
                    yield words, parameter


NUMBERS = list(_numbers())
RANGED = [(words, one) for words, one in NUMBERS if one.min is not None or one.max is not None]
WRONG = [
    pytest.param(words, one.opts[0], value, id=f"{'-'.join(words)}{one.opts[0]}={value}")
    for words, one in RANGED
    for value in (one.min - 1 if one.min is not None else None, one.max + 1 if one.max is not None else None)
    if value is not None
]


@pytest.mark.parametrize(("words", "option", "value"), WRONG)
def test_a_number_outside_of_its_range_is_a_wrong_use_of_the_command(
    shell: Shell, words: tuple[str, ...], option: str, value: int
) -> None:
    done = shell.am(*words, f"{option}={value}")

    assert done.code == 2
    assert re.search(
        r"Invalid value for '?[-\w, /']*: " + f"{value} is out of range", " ".join((done.out + done.err).split())
    )


def test_the_options_that_bound_what_is_shown_or_kept_are_among_them() -> None:
    ranged = {(*words, one.opts[0]) for words, one in RANGED}

    assert {("doctor", "backup", "--keep"), ("history", "inbox", "--limit"), ("mail", "inbox", "--limit")} <= ranged


def test_no_option_states_a_range_in_words_alone() -> None:
    stated = [(words, one.opts[0]) for words, one in NUMBERS if one.help and _IN_WORDS.search(one.help)]

    assert not stated

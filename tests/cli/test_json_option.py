"""Every command that prints a result prints it as JSON when asked; the others stand here with the reason."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import typer

from mcp_agent_mail.cli.app import ENTRIES, app
from mcp_agent_mail.cli.lazy_typer import LazyGroup
from tests.cli.shell import Shell

WITHOUT = {
    "serve": "it runs until it is stopped, and its lines are a log",
    "hook": "what it prints is the agent CLI's own form",
    "run": "what it prints is its command's",
    "completion": "what it prints is the shell's own form",
    "debug report": "it writes a file, which is JSON",
    "facade postal": "it is serve, with a door",
    "share preview": "it runs until it is stopped, and prints an address",
    "demo": "what it prints is a story to watch",
}


# Typer keeps the command classes private.
def commands(group: Any, *words: str) -> Iterator[tuple[str, Any]]:
    """Each command of the real tree that is no group, by its words."""
    for name in group.commands:
        command = group.imported(name) if isinstance(group, LazyGroup) else group.commands[name]
        if hasattr(command, "commands"):
            yield from commands(command, *words, name)
        else:
            yield " ".join((*words, name)), command


def options_of(command: Any) -> set[str]:
    return {option for one in command.get_params(typer.Context(command, info_name="am")) for option in one.opts}


def test_every_command_takes_json_or_says_here_why_not() -> None:
    found = dict(commands(typer.main.get_command(app)))

    assert {name.split()[0] for name in found} == ENTRIES.keys()
    assert {name for name, command in found.items() if "--json" not in options_of(command)} == WITHOUT.keys()


@pytest.mark.parametrize(
    "words",
    [
        ("mail", "read", "999999"),
        ("agents", "show", "NoSuchAgent"),
        ("projects", "show", "no-such-project"),
        ("products", "show", "no-such-product"),
        ("token", "create", "--agent", "NoSuchAgent"),
        ("reservations", "release", "999999"),
    ],
)
def test_with_json_a_refusal_is_in_words_on_stderr_and_standard_output_is_empty(
    at_stopped: Shell, words: tuple[str, ...]
) -> None:
    done = at_stopped.am(*words, "--json")

    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("Error (NOT_FOUND): ")


def test_what_prints_json_anyway_takes_the_option(at_stopped: Shell) -> None:
    at_stopped.set(AGENT_NAME="BlueLake")

    told = [at_stopped.am("robot", "reservations", *more) for more in ((), ("--json",))]

    assert told[0] == told[1]
    assert told[0].code == 0

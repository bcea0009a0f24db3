"""Help texts are golden: whoever changes one sees it, and the reference page shows the same.

Write them anew with: AM_WRITE_GOLDEN=1 pytest tests/cli/test_help.py
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.cli.command_line import am

GOLDEN = Path(__file__).parents[1] / "golden" / "cli"
REFERENCE = Path(__file__).parents[2] / "docs" / "reference" / "cli.md"

COMMANDS = (
    (),
    ("serve",),
    ("status",),
    ("mail",),
    ("mail", "inbox"),
    ("mail", "read"),
    ("mail", "thread"),
    ("mail", "search"),
    ("mail", "send"),
    ("agents",),
    ("agents", "list"),
    ("agents", "show"),
    ("agents", "retire"),
    ("agents", "unretire"),
    ("projects",),
    ("projects", "list"),
    ("projects", "show"),
    ("projects", "archive"),
    ("projects", "unarchive"),
    ("token",),
    ("token", "reissue"),
    ("doctor",),
    ("doctor", "verify"),
    ("config",),
    ("config", "show"),
    ("config", "check"),
    ("demo",),
)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: " ".join(("am", *command)))
def test_help_is_as_recorded(tmp_path: Path, command: tuple[str, ...]) -> None:
    done = am(*command, "--help", home=tmp_path)

    recorded = GOLDEN / f"{'-'.join(('am', *command))}.txt"
    if os.environ.get("AM_WRITE_GOLDEN"):
        recorded.write_text(done.stdout)
    assert done.returncode == 0
    assert done.stdout == recorded.read_text()


def test_every_command_of_the_help_is_recorded() -> None:
    listed = set()
    for file in GOLDEN.glob("*.txt"):
        words = tuple(file.stem.split("-")[1:])
        _, _, commands = file.read_text().partition("Commands:\n")
        listed |= {(*words, line.split()[0]) for line in commands.splitlines() if line.startswith("  ") and line[2] != " "}

    assert listed == set(COMMANDS) - {()}


@pytest.mark.parametrize("command", [c for c in COMMANDS if c], ids=lambda command: " ".join(("am", *command)))
def test_every_command_stands_in_the_reference(command: tuple[str, ...]) -> None:
    assert f"am {' '.join(command)}" in REFERENCE.read_text()


@pytest.mark.parametrize("command", [c for c in COMMANDS if len(c) > 1 or c], ids=lambda command: " ".join(command))
def test_every_option_stands_in_the_reference(command: tuple[str, ...]) -> None:
    text = (GOLDEN / f"{'-'.join(('am', *command))}.txt").read_text()
    options = {word.strip(",") for line in text.splitlines() for word in line.split()[:2] if word.startswith("--")}
    reference = REFERENCE.read_text()

    assert {option for option in options if option not in reference} == set()

"""Help texts are golden: whoever changes one sees it, and the reference page shows the same.

Written anew by `python -m tests.cli.help_pages`.
"""

from __future__ import annotations

import pytest

from mcp_agent_mail.cli.app import ENTRIES
from mcp_agent_mail.cli.root_help import COLUMNS, LINES
from tests.cli.help_pages import COMMANDS, GOLDEN, REFERENCE, golden_of, name_of, reference_page
from tests.cli.shell import Shell


@pytest.mark.parametrize("command", COMMANDS, ids=name_of)
def test_help_is_as_recorded(shell: Shell, command: tuple[str, ...]) -> None:
    assert shell.am(*command, "--help").out == golden_of(command).read_text()


def test_every_command_that_the_help_lists_is_recorded() -> None:
    listed: set[tuple[str, ...]] = {(name,) for name, entry in ENTRIES.items() if entry.section is not None}
    for file in GOLDEN.glob("am-*.txt"):
        _, _, commands = file.read_text().partition("\nCommands:\n")
        words = tuple(file.stem.split("-")[1:])
        listed |= {(*words, line.split()[0]) for line in commands.splitlines() if line[2:3].strip()}

    assert listed == set(COMMANDS) - {()}


def test_the_root_lists_every_command_on_a_screen_of_24_lines_and_80_columns() -> None:
    lines = golden_of(()).read_text().splitlines()

    shown = {
        line[start:].split()[0]
        for line in lines
        for start in (2, 42)
        if line[start - 2 : start] == "  " and line[start:]
    }
    assert {name for name, entry in ENTRIES.items() if entry.section is not None} <= shown
    assert len(lines) < LINES  # One is the prompt's.
    assert max(map(len, lines)) <= COLUMNS


def test_no_summary_in_a_list_of_commands_is_cut_off() -> None:
    lists = [file.read_text().partition("\nCommands:\n")[2] for file in GOLDEN.glob("*.txt")]

    assert not [line for text in lists for line in text.splitlines() if line.endswith("...")]


def test_the_reference_page_shows_the_recorded_help() -> None:
    page = REFERENCE.read_text()

    assert page == reference_page(page)

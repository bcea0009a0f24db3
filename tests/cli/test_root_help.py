from __future__ import annotations

from mcp_agent_mail.cli.root_help import COLUMNS, LINES, CommandSection, screen

COMMANDS = {
    CommandSection.SERVER: {"serve": "Run it."},
    CommandSection.MAIL: {"mail": "Read it."},
    CommandSection.CONNECT: {"setup": "Set up."},
    CommandSection.STORE: {"doctor": "Check it.", "reset": "Empty it."},
}


def test_sections_stand_side_by_side_where_there_is_room() -> None:
    lines = screen(COMMANDS, width=COLUMNS - 2).splitlines()

    assert f"{'Server':<40}Connect" in lines
    assert f"{'  serve  Run it.':<40}  setup   Set up." in lines
    assert len(lines) < LINES


def test_and_else_one_below_the_other() -> None:
    lines = screen(COMMANDS, width=60).splitlines()

    assert lines.index("Server") + 1 == lines.index("  serve  Run it.")
    assert lines.index("  mail   Read it.") < lines.index("Connect") < lines.index("  setup   Set up.")
    assert all(line == line.rstrip() for line in lines)

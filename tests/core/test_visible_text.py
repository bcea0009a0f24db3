from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_agent_mail.core.visible_text import on_one_line, visible, visible_json


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain text, ümlauts, 漢字 and 🦀", "plain text, ümlauts, 漢字 and 🦀"),
        ("\x1b[31mred\x1b[0m", r"\x1b[31mred\x1b[0m"),
        ("\x9b2J", r"\x9b2J"),
        ("\x1b]0;title\x07", r"\x1b]0;title\x07"),
        ("over\rwritten", r"over\x0dwritten"),
        ("gone\x08\x7f", r"gone\x08\x7f"),
        ("user\u202etxt.exe", r"user\u202etxt.exe"),
        ("line\r\nline\n\ttabbed", "line\nline\n\ttabbed"),
        ("half \ud800 a pair", r"half \ud800 a pair"),
    ],
)
def test_what_a_terminal_would_obey_is_written_out(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_a_cell_of_a_table_has_one_line() -> None:
    assert on_one_line("two\nlines\tand\r\ntabs") == "two lines and tabs"


@given(st.text(st.characters(codec=None, exclude_categories=[])))
def test_visible_text_holds_no_control_character_but_line_breaks_and_tabs(text: str) -> None:
    shown = visible(text)

    assert not {character for character in shown if not character.isprintable()} - set("\n\t") - _harmless(shown)


@given(st.text(st.characters(codec=None, exclude_categories=[])))
def test_visible_json_means_the_same_and_holds_no_control_character(text: str) -> None:
    document = visible_json(json.dumps({"body": text}, ensure_ascii=False))

    assert json.loads(document) == {"body": text}
    assert not any(character in document for character in "\x1b\x9b\x7f\u202e\u2066")


def _harmless(text: str) -> set[str]:
    """Unprintable to Python, obeyed by no terminal: odd blanks, private use, unassigned."""
    return {character for character in text if ord(character) > 0x9F and character not in "\u202e\u2066\u200f"}

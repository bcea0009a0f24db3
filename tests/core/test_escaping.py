from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_agent_mail.core.escaping import as_code, on_one_line, printable, visible, visible_json, written_on_one_line


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
        ("a\u061cb", r"a\u061cb"),
        ("seen\U000e0068\U000e0069", r"seen\U000e0068\U000e0069"),
        ("seen\U000e0101", r"seen\U000e0101"),
        ("Blue\u200bLake\ufeff\u2060", r"Blue\u200bLake\ufeff\u2060"),
        ("Blue\u2800Lake\U0001d159", r"Blue\u2800Lake\U0001d159"),
        ("soft\u00adly", r"soft\xadly"),
        ("\u3164\u115f\uffa0", r"\u3164\u115f\uffa0"),
        ("Blue\u200dLake\u200c", r"Blue\u200dLake\u200c"),
        ("\u0645\u06cc\u200c\u062e\u0648\u0631\u0645", "\u0645\u06cc\u200c\u062e\u0648\u0631\u0645"),
        ("👩\u200d🚀 and ❤\ufe0f\u200d🔥 and 1\ufe0f\u20e3", "👩\u200d🚀 and ❤\ufe0f\u200d🔥 and 1\ufe0f\u20e3"),
        ("😀\ufe01\ufe02\ufe03", "😀\ufe01\\ufe02\\ufe03"),
        ("漢\u200d\u200c\u200d字", "漢\\u200d\\u200c\\u200d字"),
    ],
)
def test_what_a_terminal_would_obey_is_written_out(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_what_is_not_shown_is_the_same_in_json() -> None:
    text = "seen\U000e0068\u061c\u200b\ufe01 👩\u200d🚀"
    document = visible_json(json.dumps({"body": text}, ensure_ascii=False))

    assert document == r"""{"body": "seen\udb40\udc68\u061c\u200b\ufe01 """ + "👩\u200d🚀" + '"}'
    assert json.loads(document) == {"body": text}


def test_a_line_of_a_log_has_one_line_and_its_own_columns() -> None:
    assert written_on_one_line("two\nlines\tand\r\x1b[2J") == r"two\nlines\tand\r\x1b[2J"


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
    assert not any(character in document for character in "\x1b\x9b\x7f\u202e\u2066\u061c\U000e0041")


def _harmless(text: str) -> set[str]:
    """Unprintable to Python, obeyed by no terminal: odd blanks, private use, unassigned."""
    return {character for character in text if ord(character) > 0x9F and character not in "\u202e\u2066\u200f"}


@pytest.mark.parametrize(
    ("text", "code"),
    [("src/**", "`src/**`"), ("a`b", "``a`b``"), ("`", "`` ` ``"), ("a```b``", "```` a```b`` ````"), ("", "``")],
)
def test_code_stands_between_more_backticks_than_it_holds(text: str, code: str) -> None:
    assert as_code(text) == code


@pytest.mark.parametrize(
    "unseen", ["\n", "\t\r\n", "\x1b", "\u061c", "\u202e", "\U000e0041\U000e0042", "\ud800", "\u200d"]
)
def test_what_is_not_printable_is_one_blank(unseen: str) -> None:
    assert printable(f"a{unseen}b") == "a b"


def test_what_belongs_to_a_word_or_an_emoji_stays_printable() -> None:
    family = "\U0001f468\u200d\U0001f469\u200d\U0001f467"

    assert printable(f"Plan {family} \u2764\ufe0f") == f"Plan {family} \u2764\ufe0f"

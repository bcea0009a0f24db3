from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_agent_mail.server.observability.cell_sizes import cut, folded, width_of

SHOWN = st.text(st.characters(exclude_categories=["Cc", "Cs"]))


@pytest.mark.parametrize(
    ("text", "width"),
    [("", 0), ("plain", 5), ("caf\u00e9", 4), ("e\u0301", 1), ("\u6f22\u5b57", 4), ("\u6f22\u200d\u5b57", 4)],
)
def test_wide_letters_take_two_cells_and_marks_and_joiners_none(text: str, width: int) -> None:
    assert width_of(text) == width


def test_a_sign_that_is_drawn_as_an_emoji_takes_two_cells() -> None:
    assert width_of("\u2764\ufe0f") == 2


@pytest.mark.parametrize(
    ("text", "width", "shown"),
    [
        ("abcd", 4, "abcd"),
        ("abcde", 4, "abc\u2026"),
        ("\u6f22\u5b57", 4, "\u6f22\u5b57"),
        ("\u6f22\u5b57", 3, "\u6f22\u2026"),
        ("\u6f22\u5b57", 2, "\u2026"),
        ("abc", 1, "\u2026"),
        ("abc", 0, ""),
        ("abc", -3, ""),
    ],
)
def test_text_is_cut_to_its_cells(text: str, width: int, shown: str) -> None:
    assert cut(text, width) == shown


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", []),
        ("one two", ["one", "two"]),
        ("a b c d", ["a b", "c d"]),
        ("abcdefghij", ["abcd", "efgh", "ij"]),
        ("a \u6f22\u5b57\u6f22 b", ["a", "\u6f22\u5b57", "\u6f22 b"]),
    ],
)
def test_text_is_folded_at_blanks_and_long_words_where_the_line_ends(text: str, lines: list[str]) -> None:
    assert folded(text, 4) == lines


@given(SHOWN, st.integers(2, 40))
def test_nothing_is_wider_than_it_may_be_and_folding_loses_no_letter(text: str, width: int) -> None:
    assert width_of(cut(text, width)) <= width
    lines = folded(text, width)
    assert all(width_of(line) <= width for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())


def test_a_server_that_nobody_watches_starts_without_the_tables_of_widths() -> None:
    code = "import sys, mcp_agent_mail.server.observability.call_lines; print('rich.cells' in sys.modules)"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "False\n"

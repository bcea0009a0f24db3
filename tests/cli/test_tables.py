"""Tables in terminals of any width: nothing is left out without a word."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from mcp_agent_mail.cli.tables import GAP, ShownText, TableColumn, fit_widths, render_table


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def screen(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")
    return monkeypatch


def column(heading: str, *texts: str, wraps: bool = False, is_whole: bool = False, style: str = "") -> TableColumn:
    cells = [ShownText(text, style) for text in texts]
    return TableColumn(heading=heading, cells=cells, wraps=wraps, is_whole=is_whole)


def shown(columns: Sequence[TableColumn]) -> list[str]:
    return render_table(columns).splitlines()


def test_what_fits_is_shown_as_it_is_and_empty_columns_too() -> None:
    assert shown([column("id", "7", "42"), column("flags", "", ""), column("who", "a", "b")]) == [
        "ID  FLAGS  WHO",
        "7          a",
        "42         b",
    ]


def test_columns_without_any_value_make_room_with_a_word() -> None:
    columns = [column("id", "7"), column("flags", ""), column("kind", ""), column("text", "x " * 39, wraps=True)]

    lines = shown(columns)

    assert lines[0] == "ID  TEXT"
    assert lines[-1] == "(in no row: flags, kind)"


def test_what_may_wrap_gives_way_first_and_nothing_of_it_is_lost() -> None:
    columns = [column("program", "p" * 30), column("a", "y" * 70, wraps=True), column("b", "z" * 25, wraps=True)]

    lines = shown(columns)

    assert lines[1].split()[0] == "p" * 30
    assert [sum(line.count(letter) for line in lines) for letter in "pyz"] == [30, 70, 25]
    assert max(map(len, lines)) <= 80


def test_then_words_are_cut_and_say_so() -> None:
    columns = [column("id", "x" * 40, is_whole=True), column("program", "p" * 30), column("a", "y" * 70, wraps=True)]

    lines = shown(columns)

    assert lines[1].split() == ["x" * 40, "p" * 15 + "…", "y" * 20]
    assert sum(line.count("y") for line in lines) == 70


def test_in_a_very_narrow_terminal_each_row_is_a_block(screen: pytest.MonkeyPatch) -> None:
    screen.setenv("COLUMNS", "20")
    columns = [column("id", "1", "2", is_whole=True), column("path", "/very/long", "", wraps=True)]
    columns.append(column("sent", "2026-11-21 20:38:11Z", "now", is_whole=True))

    assert shown(columns) == [
        "id    1",
        "path  /very/long",
        "sent  2026-11-21",
        "      20:38:11Z",
        "",
        "id    2",
        "sent  now",
    ]


def test_no_line_of_a_block_is_wider_than_the_terminal(screen: pytest.MonkeyPatch) -> None:
    screen.setenv("COLUMNS", "24")
    lines = shown([column("id", "1" * 20, is_whole=True), column("subject", "word " * 9 + "x" * 40, wraps=True)])

    assert all(len(line) <= 24 for line in lines)
    assert sum(line.count("x") for line in lines) == 40


def test_wide_letters_count_as_two_cells() -> None:
    assert shown([column("who", "日本", "ab"), column("id", "1", "2")]) == ["WHO   ID", "日本  1", "ab    2"]


def test_words_of_peers_are_no_markup() -> None:
    assert shown([column("subject", "[bold]x[/]", wraps=True)]) == ["SUBJECT", "[bold]x[/]"]


def test_colours_are_written_only_where_nobody_asked_for_none(screen: pytest.MonkeyPatch) -> None:
    columns = [column("flags", "urgent", style="bold red")]

    screen.setattr(sys, "stdout", Screen())
    plain = render_table(columns)
    screen.delenv("NO_COLOR")
    coloured = render_table(columns)

    assert plain == "FLAGS\nurgent"
    assert "\x1b[1;31murgent\x1b[0m" in coloured


COLUMNS = st.lists(
    st.tuples(st.integers(1, 200), st.booleans(), st.booleans()).map(
        lambda made: column("h", "x" * made[0], wraps=made[1], is_whole=made[2])
    ),
    min_size=1,
    max_size=8,
)


@given(columns=COLUMNS, width=st.integers(10, 200))
def test_widths_fit_and_narrow_only_what_may_be_narrowed(columns: list[TableColumn], width: int) -> None:
    widest = [cell_len(column.cells[0].text) for column in columns]

    widths = fit_widths(columns, widest, width)

    if widths is not None:
        assert sum(widths) + GAP * (len(widths) - 1) <= width
        for column, most, least in zip(columns, widest, widths, strict=True):
            assert least == most if column.is_whole and not column.wraps else least >= min(most, 10)
    else:
        narrowest = [
            min(most, 12 if c.wraps else most if c.is_whole else 10) for c, most in zip(columns, widest, strict=True)
        ]
        assert sum(narrowest) + GAP * (len(columns) - 1) > width

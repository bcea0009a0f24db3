from __future__ import annotations

import io
import os
import pty
import sys
from collections.abc import Callable

import pytest

from mcp_agent_mail.cli.output import Column, Row, at, print_fields, print_json, print_rows, print_text, short_time

OnATerminal = Callable[[Callable[[], object]], str]

HOSTILE = "\x1b[31mred\u202e\nnext"
COLUMNS = (
    Column("id", "id", is_right=True),
    Column("who", lambda row: row["who"].upper()),
    Column("note", "note", may_wrap=True),
)
ROWS: list[Row] = [{"id": 7, "who": "a", "note": None}, {"id": 42, "who": "b", "note": None}]


@pytest.fixture
def on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> OnATerminal:
    """Does something while standard output is a terminal of 80 columns; gives what that shows."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "dumb")

    def show(act: Callable[[], object]) -> str:
        controller, device = pty.openpty()
        with os.fdopen(controller, "rb", buffering=0) as reader, os.fdopen(device, "w", encoding="utf-8") as screen:
            with monkeypatch.context() as patch:
                patch.setattr(sys, "stdout", screen)
                act()
            screen.write("\0")
            screen.flush()
            seen = b""
            while not seen.endswith(b"\0"):
                seen += reader.read(65_536)
        return seen[:-1].decode().replace("\r\n", "\n")

    return show


def test_a_pipe_gets_a_line_of_cells_per_row(capsys: pytest.CaptureFixture[str]) -> None:
    print_rows(ROWS, COLUMNS, nothing="Nobody.")

    assert capsys.readouterr().out == "7\tA\t\n42\tB\t\n"


def test_a_pipe_gets_no_line_for_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    print_rows([], COLUMNS, nothing="Nobody.")

    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, ""), (True, "yes"), (False, "no"), (["a", True, 3], "a, yes, 3"), (0, "0"), (HOSTILE, "\\x1b[31mred")],
)
def test_a_cell_is_its_value_in_words(value: object, text: str) -> None:
    cell = Column("x", "x").text({"x": value})

    assert cell.startswith(text)
    assert not {"\n", "\t", "\x1b", "\u202e"} & set(cell)
    assert cell == text or value == HOSTILE


def test_a_terminal_gets_a_table_without_the_columns_that_say_nothing(on_a_terminal: OnATerminal) -> None:
    shown = on_a_terminal(lambda: print_rows(ROWS, COLUMNS, nothing="Nobody."))

    assert [line.rstrip() for line in shown.splitlines()] == ["ID  WHO", " 7  A", "42  B"]


def test_what_may_wrap_goes_on_below_and_is_no_markup(on_a_terminal: OnATerminal) -> None:
    rows = [{"id": 1, "who": "a", "note": "[bold]" + "x" * 100}]

    shown = on_a_terminal(lambda: print_rows(rows, COLUMNS, nothing="Nobody."))

    heading, *lines = shown.splitlines()
    assert heading.split() == ["ID", "WHO", "NOTE"]
    assert len(lines) > 1
    assert "".join(line[9:].strip() for line in lines) == "[bold]" + "x" * 100


def test_what_may_wrap_keeps_some_width_and_nothing_is_cut_off(on_a_terminal: OnATerminal) -> None:
    columns = (*COLUMNS, Column("path", "path", may_wrap=True))
    rows = [{"id": "x" * 100, "who": "", "note": "y" * 40, "path": "z" * 20}]

    lines = on_a_terminal(lambda: print_rows(rows, columns, nothing="Nobody.")).splitlines()

    cells = [line.split() for line in lines[1:]]
    assert cells[0][:2] == ["x" * 100, "y" * 16]
    assert [sum(line.count(letter) for line in lines) for letter in "xyz"] == [100, 40, 20]


def test_a_terminal_is_told_that_there_is_nothing(on_a_terminal: OnATerminal) -> None:
    shown = on_a_terminal(lambda: print_rows([], COLUMNS, nothing="Nobody."))

    assert shown == "Nobody.\n"


def test_fields_are_tabbed_for_a_pipe_and_empty_ones_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    print_fields([("name", "BlueLake"), ("gone", None), ("note", ""), ("is_here", False), ("count", 0)])

    assert capsys.readouterr().out == "name\tBlueLake\nis_here\tno\ncount\t0\n"


def test_fields_stand_below_each_other_on_a_terminal(on_a_terminal: OnATerminal) -> None:
    shown = on_a_terminal(lambda: print_fields([("name", "BlueLake"), ("is_here", True)]))

    assert shown == "name     BlueLake\nis_here  yes\n"


def test_no_field_at_all_prints_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    print_fields([("gone", None)])

    assert capsys.readouterr().out == ""


def test_a_pipe_gets_the_full_time() -> None:
    assert at("ts")({"ts": "2026-11-21T20:38:11Z"}) == "2026-11-21T20:38:11Z"


def test_a_terminal_gets_the_time_to_the_minute(on_a_terminal: OnATerminal) -> None:
    times: list[str] = []

    on_a_terminal(lambda: times.extend(short_time({"ts": ts}, "ts") for ts in ("2026-11-21T20:38:11Z", None)))

    assert times == ["2026-11-21 20:38Z", ""]


def test_json_is_exact_and_cannot_drive_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"name": "Zoë", "note": "\u202e"})

    assert capsys.readouterr().out == '{\n  "name": "Zoë",\n  "note": "\\u202e"\n}\n'


def test_a_letter_that_the_locale_lacks_is_written_in_ascii(monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="ascii", write_through=True))

    print_text("Zoë\nand \x07")

    assert written.getvalue() == b"Zo\\xeb\nand \\x07\n"

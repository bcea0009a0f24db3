from __future__ import annotations

import io
import os
import pty
import sys
from collections.abc import Callable

import pytest

from mcp_agent_mail.cli.output import Column, Row, at, print_fields, print_json, print_rows, print_text, time_of
from mcp_agent_mail.core.clock import parse_time

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


def test_a_terminal_gets_a_table_with_every_column(on_a_terminal: OnATerminal) -> None:
    shown = on_a_terminal(lambda: print_rows(ROWS, COLUMNS, nothing="Nobody."))

    assert shown.splitlines() == ["ID  WHO  NOTE", " 7  A", "42  B"]


def test_what_may_wrap_goes_on_below_and_is_no_markup(on_a_terminal: OnATerminal) -> None:
    rows = [{"id": 1, "who": "a", "note": "[bold]" + "x" * 100}]

    shown = on_a_terminal(lambda: print_rows(rows, COLUMNS, nothing="Nobody."))

    heading, *lines = shown.splitlines()
    assert heading.split() == ["ID", "WHO", "NOTE"]
    assert len(lines) > 1
    assert "".join(line[9:].strip() for line in lines) == "[bold]" + "x" * 100


def test_a_word_on_a_terminal_may_say_more_than_a_pipe_is_told(
    on_a_terminal: OnATerminal, capsys: pytest.CaptureFixture[str]
) -> None:
    columns = [Column("flags", "flags", on_terminal=lambda row: f"{row['flags']}, unread\x1b")]
    rows = [{"flags": "high"}]

    print_rows(rows, columns, nothing="Nobody.")
    shown = on_a_terminal(lambda: print_rows(rows, columns, nothing="Nobody."))

    assert capsys.readouterr().out == "high\n"
    assert shown == "FLAGS\nhigh, unread\\x1b\n"


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


NOW = parse_time("2026-11-21T20:40:30Z")
TIMES: list[Row] = [{"ts": "2026-11-21T20:38:11.123456+00:00"}, {"ts": None}, {"ts": "2026-11-21T21:30:31Z"}]


def test_a_terminal_gets_ages(on_a_terminal: OnATerminal) -> None:
    shown = on_a_terminal(lambda: print_rows(TIMES, [Column("sent", at("ts"))], nothing="", clock=lambda: NOW))

    assert shown.splitlines() == ["SENT", "2 min", "", "in 50 min"]


def test_a_terminal_gets_exact_times_when_asked_for(on_a_terminal: OnATerminal) -> None:
    shown = on_a_terminal(
        lambda: print_rows(TIMES, [Column("sent", at("ts"))], nothing="", exact=True, clock=lambda: NOW)
    )

    assert shown.splitlines() == ["SENT", "2026-11-21 20:38:11Z", "", "2026-11-21 21:30:31Z"]


def test_a_pipe_gets_full_times_whatever_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    for exact in (False, True):
        print_rows(TIMES[:1], [Column("sent", at("ts"))], nothing="", exact=exact, clock=lambda: NOW)

    assert capsys.readouterr().out == "2026-11-21T20:38:11.123456+00:00\n" * 2


def test_a_time_among_fields_is_exact_and_aged_on_a_terminal_alone(on_a_terminal: OnATerminal) -> None:
    told: list[str | None] = []

    piped = time_of(TIMES[0]["ts"], clock=lambda: NOW)
    on_a_terminal(lambda: told.append(time_of(TIMES[0]["ts"], clock=lambda: NOW)))

    assert piped == TIMES[0]["ts"]
    assert told == ["2026-11-21 20:38:11Z (2 min ago)"]


def test_json_is_exact_and_cannot_drive_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"name": "Zoë", "note": "\u202e"})

    assert capsys.readouterr().out == '{\n  "name": "Zoë",\n  "note": "\\u202e"\n}\n'


def test_a_letter_that_the_locale_lacks_is_written_in_ascii(monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="ascii", write_through=True))

    print_text("Zoë\nand \x07")

    assert written.getvalue() == b"Zo\\xeb\nand \\x07\n"


def test_a_long_field_goes_on_below_its_beginning_on_a_terminal_alone(
    on_a_terminal: OnATerminal, capsys: pytest.CaptureFixture[str]
) -> None:
    fields = [("name", "word " * 30 + "x" * 90), ("id", 1)]

    print_fields(fields)
    *lines, path, last = on_a_terminal(lambda: print_fields(fields)).splitlines()

    assert capsys.readouterr().out == f"name\t{fields[0][1]}\nid\t1\n"
    assert all(len(line) <= 80 for line in lines)
    assert (lines[1][:11], path, last) == ("      word ", " " * 6 + "x" * 90, "id    1")


def test_what_a_terminal_is_told_elsewhere_is_a_column_for_a_pipe_alone(
    on_a_terminal: OnATerminal, capsys: pytest.CaptureFixture[str]
) -> None:
    columns = [Column("id", "id"), Column("unread", lambda _: "unread", piped_only=True)]

    print_rows([{"id": 7}], columns, nothing="")

    assert capsys.readouterr().out == "7\tunread\n"
    assert on_a_terminal(lambda: print_rows([{"id": 7}], columns, nothing="")) == "ID\n7\n"

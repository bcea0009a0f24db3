from __future__ import annotations

from pathlib import Path

import pytest

from mcp_agent_mail.archive.notes.thread_pages import (
    THREADS_NOTE,
    are_pages_behind,
    begun_at,
    read_thread_note,
    write_thread_note,
    written_pages,
)
from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import OutboxSeq


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / THREADS_NOTE).parent.mkdir(parents=True)
    return tmp_path


def test_what_is_noted_is_read_back(place: Path) -> None:
    note = begun_at(OutboxSeq(5)).after(OutboxSeq(7), "abc", Micros(1))

    write_thread_note(place, note)

    assert read_thread_note(place) == note
    assert [are_pages_behind(place, OutboxSeq(seq)) for seq in (7, 8)] == [False, True]


@pytest.mark.parametrize(
    "torn", ["", "[]", '{"since": 1}', '{"since": 1, "at": 1, "written": [], "before": {}}', "\0\0"]
)
def test_a_note_that_cannot_be_read_is_none(place: Path, torn: str) -> None:
    (place / THREADS_NOTE).write_text(torn)

    assert read_thread_note(place) is None
    assert not are_pages_behind(place, OutboxSeq(9))
    assert written_pages(place, lambda _: True) == (0, 0)


def test_the_newest_commit_that_is_known_counts(place: Path) -> None:
    note = begun_at(OutboxSeq(2)).after(OutboxSeq(5), "older", Micros(1)).after(OutboxSeq(8), "newer", Micros(2))
    write_thread_note(place, note)

    assert written_pages(place, {"older", "newer"}.__contains__) == (2, 8)
    assert written_pages(place, {"older"}.__contains__) == (2, 5)
    assert written_pages(place, set[str]().__contains__) == (0, 0)

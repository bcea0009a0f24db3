"""Counts and notes are bounded, and nothing is lost from the counts."""

from __future__ import annotations

from mcp_agent_mail.facades.importers.reading_notes import MOST_NOTES, ReadingNotes


def test_equal_reasons_are_one_line_with_a_count() -> None:
    notes = ReadingNotes()

    notes.leave_out("windows", "Why.", 2)
    notes.leave_out("windows", "Why.")
    notes.leave_out("slots", "Why.", 0)

    assert [(one.kind, one.count) for one in notes.left_out()] == [("windows", 3)]


def test_beyond_many_reasons_and_notes_they_are_counted() -> None:
    notes = ReadingNotes()

    for number in range(1_000):
        notes.leave_out("lines", f"Reason {number}.")
        notes.note(f"Note {number}.")
        notes.note("Note 0.")

    assert sum(one.count for one in notes.left_out()) == 1_000
    assert len(list(notes.left_out())) <= 201
    said = [one.text for one in notes.notes()]
    assert len(said) == MOST_NOTES
    assert said[-1] == f"And {1_000 - (MOST_NOTES - 1)} more notes like these."

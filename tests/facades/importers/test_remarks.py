"""Counts and notes are bounded, and nothing is lost from the counts."""

from __future__ import annotations

from mcp_agent_mail.facades.importers.remarks import MOST_NOTES, Remarks


def test_equal_reasons_are_one_line_with_a_count() -> None:
    remarks = Remarks()

    remarks.leave_out("windows", "Why.", 2)
    remarks.leave_out("windows", "Why.")
    remarks.leave_out("slots", "Why.", 0)

    assert [(one.kind, one.count) for one in remarks.left_out()] == [("windows", 3)]


def test_beyond_many_reasons_and_notes_they_are_counted() -> None:
    remarks = Remarks()

    for number in range(1_000):
        remarks.leave_out("lines", f"Reason {number}.")
        remarks.note(f"Note {number}.")
        remarks.note("Note 0.")

    assert sum(one.count for one in remarks.left_out()) == 1_000
    assert len(list(remarks.left_out())) <= 201
    notes = [one.text for one in remarks.notes()]
    assert len(notes) == MOST_NOTES
    assert notes[-1] == f"And {1_000 - (MOST_NOTES - 1)} more notes like these."

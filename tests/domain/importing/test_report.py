from __future__ import annotations

from mcp_agent_mail.domain.importing import report as reports
from mcp_agent_mail.domain.importing.records import NotCarried, SourceKind
from mcp_agent_mail.domain.importing.report import (
    RenamedAgent,
    Tally,
    WhyRenamed,
    report_of,
    tally_from_json,
    tally_to_json,
)

BOB = RenamedAgent(project="/a", name="bob!", agent="BlueLake", alias="bob!", why=WhyRenamed.UNFIT)


def counted() -> Tally:
    tally = Tally(names_omitted=2)
    tally.of(SourceKind.AGENT).added += 3
    tally.of(SourceKind.AGENT).known += 1
    tally.leave(SourceKind.AGENT, "no project", 2)
    tally.rename(BOB)
    tally.note("once")
    tally.note("once")
    return tally


def test_what_is_found_is_added_known_or_left() -> None:
    assert counted().of(SourceKind.AGENT).found == 6


def test_a_tally_goes_over_the_wire_and_back() -> None:
    assert tally_from_json(tally_to_json(counted())) == counted()


def test_what_was_counted_later_is_added() -> None:
    tally = counted()
    tally.add(counted())

    assert (tally.of(SourceKind.AGENT).found, len(tally.names), tally.names_omitted) == (12, 2, 4)
    assert (tally.left, tally.notes) == ({("agents", "no project"): 4}, ["once"])


def test_what_the_reader_left_of_a_counted_kind_counts_as_found() -> None:
    tally = counted()
    tally.add_left_out(
        [
            NotCarried(kind="messages", count=2, why="broken line"),
            NotCarried(kind="windows", count=4, why="they come and go"),
        ]
    )

    report = report_of(tally, "postal", "one", is_applied=False)

    assert (report.counts[SourceKind.MESSAGE].found, report.added) == (2, 3)
    assert [(one.kind, one.count) for one in report.left] == [("agents", 2), ("messages", 2), ("windows", 4)]


def test_lists_have_a_bound_and_say_what_is_beyond() -> None:
    tally = Tally()
    for number in range(reports.MOST_NAMES + 5):
        tally.rename(BOB)
        tally.leave(SourceKind.LINK, f"reason {number}")
        tally.note(str(number))

    assert (len(tally.names), tally.names_omitted) == (reports.MOST_NAMES, 5)
    assert len(tally.notes) == reports.MOST_NOTES
    assert len(tally.left) == reports.MOST_REASONS + 1
    assert sum(tally.left.values()) == reports.MOST_NAMES + 5

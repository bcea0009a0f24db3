"""What a person reads of an import."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcp_agent_mail.cli.importing.report import print_report, report_record
from mcp_agent_mail.domain.importing.records import NotCarried, SourceKind
from mcp_agent_mail.domain.importing.report import ImportReport, KindCounts, RenamedAgent, WhyRenamed


def _report(*, is_applied: bool = False, names: tuple[RenamedAgent, ...] = ()) -> ImportReport:
    return ImportReport(
        system="postal",
        store_id="0",
        is_applied=is_applied,
        counts={kind: KindCounts() for kind in SourceKind} | {SourceKind.MESSAGE: KindCounts(added=3, known=1, left=2)},
        left=(NotCarried(kind="windows", count=4, why="they come again"),),
        names=names,
        names_omitted=0,
        notes=("One thing\nto know.",),
    )


_RENAMED = RenamedAgent(project="/p", name="Blue Lake!", agent=None, alias="Blue Lake!", why=WhyRenamed.UNFIT)


def test_a_terminal_gets_tables_with_headings_and_the_next_step(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "100")

    print_report(_report(names=(_RENAMED,)), Path("/s"), json=False)

    told = capsys.readouterr().out
    assert [line for line in told.splitlines() if line.startswith("messages")] == [
        "messages      6             3             1         2                   0"
    ]
    for part in ("WOULD BE NEW", "Names that change:", "(made then)", "Not taken over:", "- One thing"):
        assert part in told
    assert told.rstrip().endswith("To do it: the same line with --apply.")


def test_kinds_that_a_store_has_none_of_are_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    print_report(_report(is_applied=True), Path("/s"), json=False)

    assert [line.split("\t") for line in capsys.readouterr().out.splitlines()] == [
        ["system", "postal"],
        ["source", "/s"],
        ["applied", "yes"],
        ["count", "messages", "6", "3", "1", "2", "0"],
        ["left", "4", "windows", "they come again"],
        ["note", "One thing to know."],
    ]


def test_json_has_all_of_it() -> None:
    record = report_record(_report(names=(_RENAMED,)), Path("/s"))

    assert record["counts"]["messages"] == {"found": 6, "added": 3, "known": 1, "left": 2, "changed": 0}
    assert record["names"] == [
        {"project": "/p", "name": "Blue Lake!", "agent": None, "alias": "Blue Lake!", "why": "unfit"}
    ]
    assert set(record) == {
        "system", "source", "store_id", "applied", "counts", "left", "names", "names_omitted", "notes",
    }  # fmt: skip

"""What a person is told of an import: counts by kind, names, what is left where it was, and what to know besides."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mcp_agent_mail.cli.output import (
    Column,
    Row,
    folded,
    is_terminal,
    print_fields,
    print_gap,
    print_json,
    print_rows,
    print_text,
)
from mcp_agent_mail.core.escaping import on_one_line
from mcp_agent_mail.domain.importing.report import ImportReport, RenamedAgent, WhyRenamed

_DRY = "Nothing was written: this says what would be. To do it: the same line with --apply."
_DONE = "Done. What was there already stayed as it was; the source is unchanged."
_EMPTY = "There is nothing in it."
_WHY = {
    WhyRenamed.UNFIT: "no agent here can be called so",
    WhyRenamed.TAKEN: "the name is another agent's here",
    WhyRenamed.JOINED: "it is known here as the same one's",
}


def print_report(report: ImportReport, source: Path, *, json: bool) -> None:
    """As JSON, or for a person; a pipe gets lines whose first word says what they are."""
    if json:
        print_json(report_record(report, source))
        return
    print_fields([("system", report.system), ("source", str(source)), ("applied", report.is_applied)])
    print_gap()
    print_rows(_counts(report), _columns(report), nothing=_EMPTY)
    _print_part("Names that change", _names(report), _NAMES)
    _print_part("Not taken over", _left(report), _LEFT)
    _print_notes(report)
    if report.names_omitted:
        print_text(f"And {report.names_omitted} more names: --json has no more of them either.")
    if is_terminal():
        print_gap()
        print_text(_DONE if report.is_applied else _DRY)


# Plain JSON.
def report_record(report: ImportReport, source: Path) -> dict[str, Any]:
    """All of the report."""
    return {
        "system": report.system,
        "source": str(source),
        "store_id": report.store_id,
        "applied": report.is_applied,
        "counts": {
            kind.value: {
                "found": one.found,
                "added": one.added,
                "known": one.known,
                "left": one.left,
                "changed": one.changed,
            }
            for kind, one in report.counts.items()
        },
        "left": [{"kind": str(one.kind), "count": one.count, "why": one.why} for one in report.left],
        "names": [_name_record(one) for one in report.names],
        "names_omitted": report.names_omitted,
        "notes": list(report.notes),
    }


# Likewise.
def _name_record(one: RenamedAgent) -> dict[str, Any]:
    return {
        "project": one.project,
        "name": one.name,
        "agent": one.agent,
        "alias": one.alias,
        "why": one.why.value,
    }


def _print_part(heading: str, rows: list[Row], columns: tuple[Column, ...]) -> None:
    if not rows:
        return
    print_gap()
    if is_terminal():
        print_text(f"{heading}:")
    print_rows(rows, columns, nothing="")


def _print_notes(report: ImportReport) -> None:
    if not is_terminal():
        print_rows([{"line": "note", "text": text} for text in report.notes], _NOTES, nothing="")
    elif report.notes:
        print_gap()
        print_text("To know:")
        for text in report.notes:
            print_text(folded("- ", on_one_line(text)))


def _counts(report: ImportReport) -> list[Row]:
    return [
        {
            "line": "count",
            "kind": kind.value,
            "found": one.found,
            "added": one.added,
            "known": one.known,
            "left": one.left,
            "changed": one.changed,
        }
        for kind, one in report.counts.items()
        if one.found
    ]


def _columns(report: ImportReport) -> tuple[Column, ...]:
    return (
        _LINE,
        Column("kind", "kind", is_whole=True),
        Column("found", "found", is_right=True),
        Column("new" if report.is_applied else "would be new", "added", is_right=True),
        Column("here already", "known", is_right=True),
        Column("left out", "left", is_right=True),
        Column("state changed" if report.is_applied else "state would change", "changed", is_right=True),
    )


def _names(report: ImportReport) -> list[Row]:
    return [
        {
            "line": "name",
            "project": one.project,
            "name": one.name,
            "agent": one.agent or "(made then)",
            "why": _WHY[one.why] + (f"; {one.alias} still finds it" if one.alias else ""),
        }
        for one in report.names
    ]


def _left(report: ImportReport) -> list[Row]:
    return [{"line": "left", "count": one.count, "kind": str(one.kind), "why": one.why} for one in report.left]


_LINE = Column("line", "line", piped_only=True)
_NAMES = (
    _LINE,
    Column("project", "project", may_wrap=True),
    Column("there", "name", may_wrap=True),
    Column("here", "agent", may_wrap=True),
    Column("why", "why", may_wrap=True),
)
_LEFT = (
    _LINE,
    Column("count", "count", is_right=True),
    Column("what", "kind", may_wrap=True),
    Column("why", "why", may_wrap=True),
)
_NOTES = (_LINE, Column("note", "text"))

"""Findings about the database itself, in the words of `am doctor verify`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from mcp_agent_mail.features.doctor.verify import Finding
from mcp_agent_mail.store.checks.integrity import DatabasePart, IntegrityFault, find_faults
from mcp_agent_mail.store.engine.faults import WAYS_BACK

_PROBLEMS = {
    DatabasePart.PAGES: "damaged",
    DatabasePart.SCHEMA: "changed",
    DatabasePart.REFERENCES: "dangling",
    DatabasePart.COUNTERS: "wrong",
    DatabasePart.SEARCH_INDEX: "different",
}

_DERIVED = (DatabasePart.COUNTERS, DatabasePart.SEARCH_INDEX)
"""What follows from the rest of the database."""
_REPAIR = "Stop the server and run `am doctor repair`, which makes it anew from the rest of the database."


def verify_store(database_path: Path) -> list[Finding]:
    """Check pages, schema, references, counters and the search index. Changes nothing. Raises StoreRefused."""
    return [_finding(fault, database_path) for fault in find_faults(database_path)]


def says_nothing(findings: Iterable[Finding]) -> bool:
    """Whether what a database with these findings says of its archives proves nothing: it is damaged, or has parts that
    are not this program's, and is not read then.
    """
    return any(finding.check in (DatabasePart.PAGES, DatabasePart.SCHEMA) for finding in findings)


def _finding(fault: IntegrityFault, database_path: Path) -> Finding:
    return Finding(
        check=fault.part.value,
        problem=_PROBLEMS[fault.part],
        project=None,
        path=str(database_path),
        evidence=fault.evidence,
        next_step=_REPAIR if fault.part in _DERIVED else f"Stop the server. {WAYS_BACK}",
    )

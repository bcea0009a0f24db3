"""Findings about the database itself, in the words of `am doctor verify`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from mcp_agent_mail.features.doctor.verify import Finding
from mcp_agent_mail.store.checks.integrity import DatabasePart, IntegrityFault, find_faults
from mcp_agent_mail.store.engine.sqlite.faults import WAYS_BACK

_PROBLEMS = {
    DatabasePart.PAGES: "damaged",
    DatabasePart.SCHEMA: "changed",
    DatabasePart.VALUES: "impossible",
    DatabasePart.REFERENCES: "dangling",
    DatabasePart.COUNTERS: "wrong",
    DatabasePart.SEARCH_INDEX: "different",
}

_DERIVED = (DatabasePart.COUNTERS, DatabasePart.SEARCH_INDEX)
"""What follows from the rest of the database."""
_REPAIR = "Stop the server and run `am doctor repair`, which makes it anew from the rest of the database."


def verify_store(database_path: Path) -> list[Finding]:
    """Check pages, schema, values, references, counters and the search index. Changes nothing. Raises StoreRefused."""
    return [_finding(fault, database_path) for fault in find_faults(database_path)]


def named_as(findings: Iterable[Finding], names: Mapping[Path, object]) -> list[Finding]:
    """What was found of a copy that nobody sees, told of what it was made of: `names` says how each of its files and
    folders is called.
    """
    longest_first = sorted(names.items(), key=lambda item: len(str(item[0])), reverse=True)

    def told(text: str) -> str:
        for path, name in longest_first:
            text = text.replace(str(path), str(name))
        return text

    return [
        replace(
            one,
            path=None if one.path is None else told(one.path),
            evidence=told(one.evidence),
            next_step=told(one.next_step),
        )
        for one in findings
    ]


def says_nothing(findings: Iterable[Finding]) -> bool:
    """Whether what a database with these findings says of its archives proves nothing, or could not be rendered: it is
    damaged, or has parts or values that this program never makes, and is not read then.
    """
    return any(finding.check in (DatabasePart.PAGES, DatabasePart.SCHEMA, DatabasePart.VALUES) for finding in findings)


def _finding(fault: IntegrityFault, database_path: Path) -> Finding:
    return Finding(
        check=fault.part.value,
        problem=_PROBLEMS[fault.part],
        project=None,
        path=str(database_path),
        evidence=fault.evidence,
        next_step=_REPAIR if fault.part in _DERIVED else f"Stop the server. {WAYS_BACK}",
    )

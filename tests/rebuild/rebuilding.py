"""A played store rebuilt from its archives, and all that is compared."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

from mcp_agent_mail.archive.attachments import ATTACHMENTS_FOLDER
from mcp_agent_mail.features.doctor.verify import verify_archives
from mcp_agent_mail.features.doctor.verify_store import verify_store
from mcp_agent_mail.features.recovery.rebuild import rebuild_database
from mcp_agent_mail.store.rebuild.dump import dump
from tests.rebuild.asking import ask, differences
from tests.rebuild.copies import copy_of
from tests.rebuild.facts import Facts, facts_of
from tests.rebuild.histories import Played
from tests.rebuild.records import differing_rows

_MOST = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """What is wrong with a rebuilt store, in words: by `am doctor verify`, by its rows, by its dump, by its answers."""

    findings: list[str]
    rows: list[str]
    dumped: list[str]
    answers: list[str]

    @property
    def is_equal(self) -> bool:
        return not (self.findings or self.rows or self.dumped or self.answers)

    def __str__(self) -> str:
        return "\n".join((*self.findings, *self.rows, *self.dumped, *self.answers))


def rebuild(played: Played, folder: Path) -> Path:
    """A new database in `folder`, which is made, from the archives alone, with the contents beside it."""
    folder.mkdir(parents=True)
    rebuilt = folder / played.database.name
    rebuild_database(played.archives, rebuilt, folder / ATTACHMENTS_FOLDER)
    return rebuilt


def findings_of(played: Played, database: Path) -> list[str]:
    """What `am doctor verify` finds of that database beside the archives."""
    report = verify_archives(played.root, database, progress=lambda _done, _total: None)
    return [
        f"{finding.check} {finding.problem}: {finding.project} {finding.path}: {finding.evidence}"
        for finding in (*report.findings, *verify_store(database))
    ]


def differing_lines(before: Path, after: Path) -> list[str]:
    """Lines that only one of the two dumps has, in words, the first of them."""
    was, is_now = list(dump(before)), list(dump(after))
    ours, theirs = set(was), set(is_now)
    gone = [f"- {line}" for line in was if line not in theirs]
    new = [f"+ {line}" for line in is_now if line not in ours]
    return [*gone[:_MOST], *new[:_MOST]]


def may_differ(line: str, facts: Facts) -> bool:
    """Which of two commits is the newest of a message, where no archive tells."""
    table, values = json.loads(line[2:])
    return table == "outbox.brought" and (bool(facts.adopters) or values[1] in facts.held_blind)


async def compare(played: Played, rebuilt: Path, folder: Path) -> Compared:
    """The rebuilt database with the one that was there; `folder` is made and is for copies that are asked."""
    findings = findings_of(played, rebuilt)
    rows = differing_rows(played.database, rebuilt)
    facts = facts_of(played.database)
    dumped = [line for line in differing_lines(played.database, rebuilt) if not may_differ(line, facts)]
    before = await ask(played.root, copy_of(played, folder / "before"), played.now, facts)
    asked = folder / "after" / rebuilt.name
    shutil.copytree(rebuilt.parent, asked.parent)
    after = await ask(played.root, asked, played.now, facts)
    return Compared(findings=findings, rows=rows, dumped=dumped, answers=differences(before, after))

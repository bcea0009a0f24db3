"""At a start: where an archive has more than the database, no number that it may show is given out again.

The database is an older copy then. Its archives take nothing from it until it is rebuilt, but mail goes on meanwhile,
and agents would see two messages under one id.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from mcp_agent_mail.archive.git_folder import ArchiveRefused
from mcp_agent_mail.archive.reading.branch import Branch
from mcp_agent_mail.archive.repository import ArchiveRepository
from mcp_agent_mail.core.concurrency.computation import computed
from mcp_agent_mail.core.git.process import GitFailed
from mcp_agent_mail.core.ids import OutboxSeq
from mcp_agent_mail.features.archiving.protocol import archive_path
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.engine.numbers import GAP, GivenNumbers, highest_of
from mcp_agent_mail.store.transaction import Tx, View

_logger = logging.getLogger(__name__)
_TABLES = ("projects", "agents", "messages", "leases")
"""Each row of theirs was an event, so no id is above the number of the newest event. Events go on as they are: by them
an archive is known to be ahead.
"""


async def go_on_above_archives(store: Store, storage_root: Path) -> None:
    """Before anything is given out; whoever calls owns the store. Where no archive is ahead nothing is written, and of
    an archive that stands where it was seen last one file is read.
    """
    seen, highest = await store.read(_seen)
    held = await computed(lambda: _newest_event(storage_root, seen))
    if held > highest and await store.write(lambda tx: _raise(tx, held)):
        facts = {"archives_hold": held, "database_gave": highest}
        _logger.warning("an archive is ahead of the database: ids go on above both", extra={"facts": facts})


def _seen(view: View) -> tuple[Mapping[str, str | None], OutboxSeq]:
    """By slug the commit at which each archive was seen last; and the newest event."""
    seen: dict[str, str | None] = {}
    for project in view.projects.list_(include_archived=True, limit=1_000_000):
        last = view.outbox.last_commit(project.id)
        seen[project.slug] = None if last is None else last.hexsha
    return seen, view.outbox.highest_seq()


def _newest_event(storage_root: Path, seen: Mapping[str, str | None]) -> int:
    """That any archive holds which does not stand where it was seen."""
    highest = 0
    for slug, commit in seen.items():
        with suppress(ArchiveRefused, GitFailed, OSError):
            path = archive_path(storage_root, slug)
            if commit is not None and ArchiveRepository(path, only_git=True).written_tip() == commit:
                continue
            branch = Branch(path)
            if branch.exists() and (newest := branch.newest()) is not None:
                highest = max(highest, newest.last_seq)
    return highest


def _raise(tx: Tx, held: int) -> bool:
    """Only once: at the next start they are above already."""
    own = tx.meta.given_numbers()
    if own.sequences.get("messages", 0) >= held + GAP:
        return False
    shown = GivenNumbers(sequences=dict.fromkeys(_TABLES, held), counters={"fencing": held}, latest=0)
    above = highest_of([own, shown])
    others = {table: number for table, number in above.sequences.items() if table != "outbox"}
    tx.meta.go_on_above(GivenNumbers(sequences=others, counters=above.counters, latest=above.latest))
    return True

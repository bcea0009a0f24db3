"""At a start: where an archive has more than the database, no number that it may show is given out again.

The database is an older copy then. Its archives take nothing from it until it is rebuilt, but mail goes on meanwhile,
and agents would see two messages under one id. Likewise where the numbers noted in the store are above its own.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from mcp_agent_mail.archive.git_folder import ArchiveRefused
from mcp_agent_mail.archive.ownership import ArchiveAhead, StoreArchive, archive_of, unclaimed
from mcp_agent_mail.archive.reading.branch import Branch
from mcp_agent_mail.archive.repository import ArchiveRepository
from mcp_agent_mail.core.concurrency.computation import computed
from mcp_agent_mail.core.git.process import GitFailed
from mcp_agent_mail.core.ids import OutboxSeq
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.project_identity import slug_alias
from mcp_agent_mail.domain.projects import is_slug
from mcp_agent_mail.features.archiving.protocol import archive_folders, archive_path
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.engine.noted_numbers import NoteFailed, note_given, read_noted
from mcp_agent_mail.store.engine.sqlite.numbers import GAP, REACH, GivenNumbers, highest_of
from mcp_agent_mail.store.transaction import Tx, View

_logger = logging.getLogger(__name__)
_TABLES = ("projects", "agents", "messages", "leases")
"""Each row of theirs was an event, so no id is above the number of the newest event."""
_COUNTERS = ("fencing", "delivery")
_NOTHING = GivenNumbers(sequences={}, counters={}, latest=0)


def archives_in(folders: Iterable[Path], store_id: str) -> Iterator[StoreArchive]:
    """Those of this store. What cannot be read proves nothing."""
    for path in folders:
        with suppress(ArchiveRefused, GitFailed, OSError):
            if (found := archive_of(ArchiveRepository(path, only_git=True), store_id)) is not None:
                yield found


def is_stray(archive: StoreArchive, knows: Callable[[str], bool], highest: OutboxSeq) -> bool:
    """Does no project claim it? A copy of an archive, in a folder of another name, says whose it is; what is new in it
    the database does not know either.
    """
    return not knows(archive.repository.path.name) and (archive.held > highest or not knows(archive.slug))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shown:
    """`held`: the newest event that any archive shows; `held_by_strays`: that one whose project the database does not
    know shows. `noted`: what the store has noted of numbers. All within reach of the database's own.
    """

    held: int
    held_by_strays: int
    noted: GivenNumbers


@dataclass(frozen=True, slots=True, kw_only=True)
class AheadReport:
    """`strays`: archives of projects that the database does not know: nobody else tells of them. `unnoted`: why what
    the database gives out from now on could not be noted, if so; above what was known it is in any case.
    """

    strays: Sequence[ArchiveAhead] = ()
    unnoted: NoteFailed | None = None


async def go_on_above_archives(store: Store, storage_root: Path) -> AheadReport:
    """Before anything is given out; whoever calls owns the store.

    Where no archive is ahead nothing is written, and of an archive that stands where it was seen last one file is read.
    """
    seen, highest, store_id, own = await store.read(_seen)
    held = await computed(lambda: _newest_event(storage_root, seen))
    folders = await computed(lambda: archive_folders(storage_root))
    others = await store.read(lambda view: [path for path in folders if not _knows(view, path.name)])
    ours = await computed(lambda: list(archives_in(others, store_id)))
    strays = await store.read(
        lambda view: [unclaimed(one) for one in ours if is_stray(one, lambda slug: _knows(view, slug), highest)]
    )
    noted = await computed(lambda: read_noted(storage_root, store_id, own))
    shown = _Shown(
        held=_in_reach([held, *(one.data["archive_seq"] for one in strays)], highest),
        held_by_strays=_in_reach((one.data["archive_seq"] for one in strays), highest),
        noted=_NOTHING if noted is None else noted,
    )
    if not strays and shown.held <= highest and not _is_below(own, shown.noted):
        return AheadReport()
    if await store.write(lambda tx: _raise(tx, shown)):
        _tell_why(shown, own, highest)
    # Whatever becomes of this database: what it gives out from now on is above what is known to be given.
    given = await store.read(lambda view: view.meta.given_numbers())
    try:
        await computed(lambda: note_given(storage_root, store_id, given, replaced=own))
    except NoteFailed as unnoted:
        # Mail goes on: the database is above already. Only what replaces it, once it is moved away, knows less.
        _logger.warning("what the store gives out is not noted", extra={"facts": {"why": unnoted.text}})
        return AheadReport(strays=strays, unnoted=unnoted)
    return AheadReport(strays=strays)


def _in_reach(held: Iterable[int], highest: OutboxSeq) -> int:
    """The newest of these events; what no history of this store comes to proves nothing."""
    return max((seq for seq in held if seq <= highest + REACH), default=0)


def _tell_why(shown: _Shown, own: GivenNumbers, highest: OutboxSeq) -> None:
    if shown.held > highest or not _is_below(own, shown.noted):
        facts = {"archives_hold": shown.held, "database_gave": highest}
        _logger.warning(
            "an archive has what the database does not know: ids go on above all that is known", extra={"facts": facts}
        )
        return
    facts = {
        f"{what}_{name}": number
        for what, numbers in (("noted", shown.noted), ("database_gave", own))
        for name, number in {**numbers.sequences, **numbers.counters}.items()
        if name in (*_TABLES, *_COUNTERS)
    }
    _logger.warning(
        "numbers.json notes more than the database gave out (a database that was put in its place and is gone, or a "
        "restore or rebuild that was interrupted): ids go on above that",
        extra={"facts": facts},
    )


def _seen(view: View) -> tuple[Mapping[str, str | None], OutboxSeq, str, GivenNumbers]:
    """By slug the commit at which each archive was seen last; the newest event; whose archives they are; what the
    database has given out.
    """
    seen: dict[str, str | None] = {}
    for project in view.projects.list_(include_archived=True, limit=1_000_000):
        last = view.outbox.last_commit(project.id)
        seen[project.slug] = None if last is None else last.hexsha
    return seen, view.outbox.highest_seq(), view.meta.store_id(), view.meta.given_numbers()


def _knows(view: View, slug: str) -> bool:
    if not is_slug(slug):
        return False
    return view.projects.find_by_slug(slug) is not None or view.aliases.find(slug_alias(slug)) is not None


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


def _is_below(own: GivenNumbers, noted: GivenNumbers) -> bool:
    """Has another database of this store given out more? That of events alone proves nothing."""
    return any(own.sequences.get(table, 0) < noted.sequences.get(table, 0) for table in _TABLES) or any(
        own.counters.get(name, 0) < noted.counters.get(name, 0) for name in _COUNTERS
    )


def _raise(tx: Tx, shown: _Shown) -> bool:
    """Only once: at the next start they are above already.

    Events go on as they are, since by their numbers an archive is known to be ahead; but above those of an archive that
    no project claims, which is known without them: others would be given the numbers of its events.
    """
    own = tx.meta.given_numbers()
    above_strays = shown.held_by_strays > own.sequences.get("outbox", 0)
    is_above = own.sequences.get("messages", 0) >= shown.held + GAP and not _is_below(own, shown.noted)
    if is_above and not above_strays:
        return False
    held = GivenNumbers(sequences=dict.fromkeys(_TABLES, shown.held), counters={"fencing": shown.held}, latest=0)
    above = highest_of([own, held, shown.noted])
    sequences = {table: number for table, number in above.sequences.items() if table != "outbox"}
    if above_strays:
        sequences["outbox"] = shown.held_by_strays
    tx.meta.go_on_above(GivenNumbers(sequences=sequences, counters=above.counters, latest=above.latest))
    return True

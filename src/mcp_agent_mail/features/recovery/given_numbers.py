"""Which numbers the store that is replaced may have given out, also where its database is lost or cannot be read.

Its database tells, those that were replaced before, the note in the store, and the new store itself. What the database
does not know its archives tell, as they tell a rebuild.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

from mcp_agent_mail.archive.git_folder import ArchiveRefused
from mcp_agent_mail.archive.reading.branch import Branch
from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.core.git.process import GitFailed
from mcp_agent_mail.features.archiving.protocol import PROJECTS_FOLDER, archive_folders
from mcp_agent_mail.features.recovery.numbered_names import oldest_first
from mcp_agent_mail.features.recovery.rebuild import rebuild_database
from mcp_agent_mail.features.recovery.refusals import RebuildRefused
from mcp_agent_mail.store.checks.artifacts import read_store_id
from mcp_agent_mail.store.engine.noted_numbers import read_noted
from mcp_agent_mail.store.engine.sqlite.database_files import UNDO_FOLDER, kept_folder, remove_database
from mcp_agent_mail.store.engine.sqlite.numbers import GivenNumbers, highest_of, read_numbers, within_reach

_MOST_LEFT_OUT = 20
"""Rounds of a rebuild, each without what the last one could not read."""
_MOST_KEPT = 20
_COUNTING = "counting.sqlite3"
_NONE = GivenNumbers(sequences={}, counters={}, latest=0)


def given_out(storage_root: Path, database_path: Path, built: Path, scratch: Path, now: Micros) -> GivenNumbers:
    """The highest that are known, of those within reach of the store that was `built`, a database that is to take the
    place of the one at `database_path`; `scratch`: a folder for what is made meanwhile. Changes nothing in the store.

    Archives are read only where the replaced database is behind one of them, cannot be read, or is out of reach: it is
    a stranger's then.
    """
    own = read_numbers(built) or _NONE
    known = _known(storage_root, database_path, built, own)
    there = read_numbers(database_path)
    if there is not None and within_reach(there, own, now) != there:
        there = None
    return _within(own, [*known, *_archived(storage_root, there, scratch)], now)


def given_before(
    storage_root: Path, database_path: Path, built: Path, scratch: Path, now: Micros, *, without: Collection[str]
) -> GivenNumbers:
    """As `given_out`, but for what a rebuild of the archives has seen itself: `without` some, it has not seen all."""
    own = read_numbers(built) or _NONE
    known = _known(storage_root, database_path, built, own)
    archived = _archived(storage_root, read_numbers(database_path), scratch) if without else ()
    return _within(own, [*known, *archived], now)


def _within(own: GivenNumbers, found: Iterable[GivenNumbers], now: Micros) -> GivenNumbers:
    return highest_of([own, *(within_reach(one, own, now) for one in found)])


def _known(storage_root: Path, database_path: Path, built: Path, own: GivenNumbers) -> list[GivenNumbers]:
    there = read_numbers(database_path)
    noted = None if own is _NONE else read_noted(storage_root, read_store_id(built), own)
    return [*filter(None, [there, noted]), *_kept(storage_root, database_path)]


def archived_up_to(storage_root: Path) -> int:
    """The newest event that any archive says it holds; what cannot be read says nothing."""
    highest = 0
    for path in archive_folders(storage_root):
        with suppress(ArchiveRefused, GitFailed, OSError):
            branch = Branch(path)
            if branch.exists() and (newest := branch.newest()) is not None:
                highest = max(highest, newest.last_seq)
    return highest


def _archived(storage_root: Path, there: GivenNumbers | None, scratch: Path) -> Iterator[GivenNumbers]:
    """What archives show and the database does not know: what a rebuild of them would go on above. Each message, agent
    and lease was an event, so where one cannot be read the newest event bounds their numbers.
    """
    up_to = archived_up_to(storage_root)
    if there is not None and there.sequences.get("outbox", 0) >= up_to:
        return
    tables = ("messages", "agents", "leases", "outbox")
    yield GivenNumbers(sequences=dict.fromkeys(tables, up_to), counters={"fencing": up_to}, latest=0)
    yield from _counted(storage_root / PROJECTS_FOLDER, scratch / _COUNTING)


def _counted(archives: Path, counted: Path) -> Iterator[GivenNumbers]:
    """Of a database that is made of all archives but those that cannot be read, and removed again."""
    left_out: set[str] = set()
    try:
        for _ in range(_MOST_LEFT_OUT):
            try:
                rebuild_database(archives, counted, None, without=left_out)
            except RebuildRefused as refused:
                new = set(refused.data.get("archives", ())) - left_out
                if not new:
                    return
                left_out |= new
            else:
                yield from filter(None, [read_numbers(counted)])
                return
    except (AgentMailError, OSError):
        return  # Of no archive more can be told than the newest event.
    finally:
        remove_database(counted)


def _kept(storage_root: Path, database: Path) -> Iterator[GivenNumbers]:
    """Of the databases that were replaced before: the newest of each way, as far as they can be read."""
    undone = [path / database.name for path in _newest_in(storage_root / UNDO_FOLDER)]
    beside = islice(reversed(oldest_first(database.parent.glob(f"{database.name}.{UNDO_FOLDER}-*"))), _MOST_KEPT)
    kept = [path / database.name for path in _newest_in(kept_folder(database.parent))]
    for path in (*undone, *beside, *kept):
        yield from filter(None, [read_numbers(path)])


def _newest_in(folder: Path) -> Iterable[Path]:
    return islice(reversed(oldest_first(_folders(folder))), _MOST_KEPT)


def _folders(folder: Path) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if path.is_dir() and not path.is_symlink())
    except OSError:
        return []

"""Which numbers the store that is replaced may have given out, also where its database is lost or cannot be read.

Then its archives tell, as they tell a rebuild, with the databases that were replaced before and the new store itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

from mcp_agent_mail.archive.git_folder import ArchiveRefused
from mcp_agent_mail.archive.reading.branch import Branch
from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.core.git.process import GitFailed
from mcp_agent_mail.features.archiving.protocol import PROJECTS_FOLDER
from mcp_agent_mail.features.recovery.backups.place import StorePlace
from mcp_agent_mail.features.recovery.backups.undo import UNDO_FOLDER
from mcp_agent_mail.features.recovery.numbered_names import oldest_first
from mcp_agent_mail.features.recovery.rebuild import rebuild_database
from mcp_agent_mail.features.recovery.refusals import RebuildRefused
from mcp_agent_mail.store.engine.database_files import DATABASE_ENDS, KEPT_FOLDER
from mcp_agent_mail.store.engine.numbers import GivenNumbers, highest_of, read_numbers, within_reach

_MOST_LEFT_OUT = 20
"""Rounds of a rebuild, each without what the last one could not read."""
_MOST_KEPT = 20
_COUNTING = "counting.sqlite3"
_NONE = GivenNumbers(sequences={}, counters={}, latest=0)


def given_out(place: StorePlace, built: Path, scratch: Path, now: Micros) -> GivenNumbers:
    """The highest that are known, of those within reach. `built`: the database that is to take the place, whose numbers
    are bounded; `scratch`: a folder for what is made meanwhile. Changes nothing at `place`.

    What the replaced database says stands where it can be read and no archive is ahead of it: that costs nothing more.
    But where its numbers are out of reach it is a stranger's, and what was in place before it counts.
    """
    there, own = read_numbers(place.database_path), read_numbers(built) or _NONE
    archived = archived_up_to(place.storage_root)
    if there is not None and there.sequences.get("outbox", 0) >= archived and within_reach(there, own, now) == there:
        return there
    found = [own, *filter(None, [there]), *_kept(place), *_archived(place, archived, scratch)]
    return highest_of(within_reach(one, own, now) for one in found)


def archived_up_to(storage_root: Path) -> int:
    """The newest event that any archive says it holds; what cannot be read says nothing."""
    highest = 0
    for path in _folders(storage_root / PROJECTS_FOLDER):
        with suppress(ArchiveRefused, GitFailed, OSError):
            branch = Branch(path)
            if branch.exists() and (newest := branch.newest()) is not None:
                highest = max(highest, newest.last_seq)
    return highest


def _archived(place: StorePlace, up_to: int, scratch: Path) -> Iterator[GivenNumbers]:
    """What a rebuild of the archives would go on above. Each message, agent and lease was an event, so where one cannot
    be read the newest event bounds their numbers.
    """
    tables = ("messages", "agents", "leases", "outbox")
    yield GivenNumbers(sequences=dict.fromkeys(tables, up_to), counters={"fencing": up_to}, latest=0)
    counted = scratch / _COUNTING
    left_out: set[str] = set()
    try:
        for _ in range(_MOST_LEFT_OUT):
            try:
                rebuild_database(place.storage_root / PROJECTS_FOLDER, counted, None, without=left_out)
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
        for end in DATABASE_ENDS:
            counted.with_name(f"{counted.name}{end}").unlink(missing_ok=True)


def _kept(place: StorePlace) -> Iterator[GivenNumbers]:
    """Of the databases that were replaced before: the newest of each way, as far as they can be read."""
    database = place.database_path
    undone = [path / database.name for path in _newest_in(place.storage_root / UNDO_FOLDER)]
    beside = islice(reversed(oldest_first(database.parent.glob(f"{database.name}.{UNDO_FOLDER}-*"))), _MOST_KEPT)
    kept = [path / database.name for path in _newest_in(database.parent / KEPT_FOLDER)]
    for path in (*undone, *beside, *kept):
        yield from filter(None, [read_numbers(path)])


def _newest_in(folder: Path) -> Iterable[Path]:
    return islice(reversed(oldest_first(_folders(folder))), _MOST_KEPT)


def _folders(folder: Path) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if path.is_dir() and not path.is_symlink())
    except OSError:
        return []

"""What is noted beside an archive of the pages of its threads: of which events they tell, and in which commit they do.

So who writes them finds what is due after a stop without looking at every thread, and who checks them knows which are
to be as the database says.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from mcp_agent_mail.archive.git_folder import STATE, said_in
from mcp_agent_mail.archive.repository import BRANCH, ArchiveRepository
from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.file_sync import sync_path
from mcp_agent_mail.core.ids import OutboxSeq
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.archive_format.thread_pages import THREADS_FOLDER

THREADS_NOTE = STATE / "threads"


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenPages:
    """With commit `hexsha` the pages tell of all mail that events up to `seq` are about."""

    seq: OutboxSeq
    hexsha: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadNote:
    """`since`: mail of events up to here was there before pages were written, and needs none. `written` is the newest,
    `before` the one before it, which the store surely knows the commit of.
    """

    since: OutboxSeq
    written: WrittenPages
    before: WrittenPages
    at: Micros
    """When pages were last written."""

    def after(self, seq: OutboxSeq, hexsha: str, at: Micros) -> ThreadNote:
        """What is noted once pages have been written again."""
        return ThreadNote(since=self.since, written=WrittenPages(seq=seq, hexsha=hexsha), before=self.written, at=at)


def begun_at(seq: OutboxSeq) -> ThreadNote:
    """Events up to `seq` need no page: those of an archive without one; with 0, all are due."""
    nothing = WrittenPages(seq=seq, hexsha="")
    return ThreadNote(since=seq, written=nothing, before=nothing, at=Micros(0))


def has_pages(path: Path) -> bool:
    """Does the branch of the archive at `path` have a page? Raises GitFailed."""
    repository = ArchiveRepository(path)
    return repository.tip() is not None and repository.blobs_at(BRANCH, [THREADS_FOLDER]) != [None]


def read_thread_note(path: Path) -> ThreadNote | None:
    """Of the archive at `path`; None where nothing is noted that can be read."""
    with suppress(OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError):
        said = json.loads(said_in(path / THREADS_NOTE) or "")
        return ThreadNote(
            since=OutboxSeq(int(said["since"])),
            written=_written(said["written"]),
            before=_written(said["before"]),
            at=Micros(int(said["at"])),
        )
    return None


def write_thread_note(path: Path, note: ThreadNote) -> None:
    """On disk when this returns, or what was noted before is."""
    place = path / THREADS_NOTE
    fresh = place.with_suffix(".new")
    fresh.write_text(json.dumps(asdict(note)))
    sync_path(fresh)
    fresh.replace(place)
    sync_path(place.parent)


def are_pages_behind(path: Path, reported: OutboxSeq) -> bool:
    """Are there events in the archive at `path` of which its pages may not tell? By what is noted there alone."""
    note = None if path.is_symlink() else read_thread_note(path)
    return note is not None and note.written.seq < reported


def written_pages(path: Path, is_known: Callable[[str], bool]) -> tuple[OutboxSeq, OutboxSeq]:
    """Between which events the pages of an archive tell of all mail, in the newest commit of them that `is_known`."""
    note = read_thread_note(path)
    if note is not None:
        for written in (note.written, note.before):
            if is_known(written.hexsha):
                return note.since, written.seq
    return OutboxSeq(0), OutboxSeq(0)


# `object`: what JSON gives, looked at here.
def _written(said: object) -> WrittenPages:
    if not isinstance(said, dict):
        raise TypeError(said)
    return WrittenPages(seq=OutboxSeq(int(said["seq"])), hexsha=str(said["hexsha"]))

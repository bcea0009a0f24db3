"""Reads the history of an archive: its commits for people, newest first, and what single files were in earlier ones.
Changes nothing, and needs no lock.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from mcp_agent_mail.archive.reading.bounded_reader import BoundedReader, TimeBudget
from mcp_agent_mail.archive.repository import BRANCH
from mcp_agent_mail.core.clock import Micros, from_seconds
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.archive_format.parse.commit_message import parse_commit

MAX_WALKED = 10_000
"""So many commits are looked at for those of one agent."""

_TIMEOUT_S = 60.0
ENTRY_FORMAT = "%H%x1f%at%x1f%an%x1f%B"


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryEntry:
    """One commit. `agents` acted in it, by name; `last_seq` is None for a commit that a person made."""

    hexsha: str
    authored_ts: Micros
    author: str
    summary: str
    agents: tuple[str, ...]
    last_seq: int | None


def read_history(path: Path, *, agent: str | None, limit: int) -> list[HistoryEntry]:
    """The newest `limit` commits of the archive at `path`, or of those in which `agent` (case ignored) acted.

    Of what is checked out there, which may be a person's own branch. Raises ArchiveRefused, ArchiveNotFound.
    """
    reader = BoundedReader(path, timeout_s=_TIMEOUT_S)
    with reader.told(), closing(reader.log("--first-parent", "HEAD", "--", form=ENTRY_FORMAT, most=MAX_WALKED)) as log:
        wanted = (entry for entry in map(entry_in, log) if agent is None or _acted(entry, agent))
        return list(islice(wanted, limit))


def _acted(entry: HistoryEntry, agent: str) -> bool:
    return agent.casefold() in (name.casefold() for name in entry.agents)


def entry_in(record: str) -> HistoryEntry:
    """From what `git log` prints as ENTRY_FORMAT. Raises ValueError."""
    hexsha, seconds, author, message = record.split("\x1f", 3)
    sealed = parse_commit(message)
    return HistoryEntry(
        hexsha=hexsha,
        authored_ts=from_seconds(int(seconds)),
        author=author,
        summary=sealed.subject,
        agents=sealed.agents,
        last_seq=sealed.last_seq,
    )


class FilePlace(NamedTuple):
    """A path in a commit."""

    hexsha: str
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundFile:
    """A content that Git has somewhere, not read yet."""

    place: FilePlace
    blob: str
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FileVersion:
    """A file as a commit left it. `content` is None where it was removed, or is larger than was asked for."""

    hexsha: str
    authored_ts: Micros
    content: bytes | None


class FileHistory:
    """Of the archive at `path`. Everything raises ArchiveRefused for what is no archive of ours, and ArchiveNotFound
    where nothing can be read; with a budget `within` ArchiveReadTooLong where that is used up.
    """

    def __init__(self, path: Path, *, timeout_s: float = _TIMEOUT_S, within: TimeBudget | None = None) -> None:
        self._reader = BoundedReader(path, timeout_s=timeout_s, within=within)

    def versions(self, path: str, *, limit: int, max_bytes: int) -> list[FileVersion]:
        """What the newest `limit` commits of the branch that changed the file made of it, newest first."""
        with self._reader.told():
            with closing(self._reader.log(BRANCH, "--", path, form="%H %at", most=limit)) as log:
                commits = [record.strip().split(" ") for record in islice(log, limit)]
            found = {one.place.hexsha: one for one in self._find([FilePlace(hexsha, path) for hexsha, _ in commits])}
            return [
                FileVersion(
                    hexsha=hexsha,
                    authored_ts=from_seconds(int(seconds)),
                    content=self._read_small(found.get(hexsha), max_bytes),
                )
                for hexsha, seconds in commits
            ]

    def find(self, places: Sequence[FilePlace]) -> list[FoundFile]:
        """Those of `places` where Git has a file, in their order. No path may have a line end in it."""
        with self._reader.told():
            return self._find(places)

    def read(self, found: FoundFile) -> bytes:
        """The whole content: look at its size first."""
        with self._reader.told():
            return self._reader.blob(found.blob)

    def _find(self, places: Sequence[FilePlace]) -> list[FoundFile]:
        objects = self._reader.objects([f"{one.hexsha}:{one.path}" for one in places])
        return [
            FoundFile(place=place, blob=one.name, size_bytes=one.size_bytes)
            for place, one in zip(places, objects, strict=True)
            if one is not None and one.kind == "blob"
        ]

    def _read_small(self, found: FoundFile | None, max_bytes: int) -> bytes | None:
        if found is None or found.size_bytes > max_bytes:
            return None
        return self._reader.blob(found.blob)

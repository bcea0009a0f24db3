"""Reads the history of an archive: its commits for people, newest first, and what single files were in earlier ones.
Changes nothing, and needs no lock.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from mcp_agent_mail.archive.ownership import require_in_store
from mcp_agent_mail.archive.repository import BRANCH, ArchiveRepository
from mcp_agent_mail.core.clock import Micros, from_seconds
from mcp_agent_mail.core.errors import NotFound
from mcp_agent_mail.core.git.process import GitFailed
from mcp_agent_mail.domain.archive_format.parse.commit_message import parse_commit

MAX_WALKED = 10_000
"""So many commits are looked at for those of one agent."""

_TIMEOUT_S = 60.0
ENTRY_FORMAT = "%H%x1f%at%x1f%an%x1f%B"


class ArchiveNotFound(NotFound):
    """The project has no archive at this place, or no commit in it yet."""


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
    repository = ArchiveRepository(path, only_git=True)
    require_in_store(repository)
    log = ("log", "-z", "--first-parent", "--encoding=UTF-8", f"--max-count={MAX_WALKED}", f"--format={ENTRY_FORMAT}")
    try:
        with closing(repository.records(*log, "HEAD", "--", timeout_s=_TIMEOUT_S)) as records:
            entries = map(entry_in, records)
            wanted = (entry for entry in entries if agent is None or _acted(entry, agent))
            return list(islice(wanted, limit))
    except (GitFailed, ValueError) as unreadable:
        raise no_history(path) from unreadable


def no_history(path: Path) -> ArchiveNotFound:
    """The refusal for an archive whose commits cannot be read, or which is not there."""
    return ArchiveNotFound(
        f"There is no readable history in {path}.",
        hint="`am status` says whether the archive has caught up; `am doctor verify` says what is wrong.",
        data={"path": str(path)},
    )


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


_CHECK = "--batch-check=%(objectname) %(objecttype) %(objectsize)"


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
    where nothing can be read.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._repository = ArchiveRepository(path, only_git=True)

    def versions(self, path: str, *, limit: int, max_bytes: int) -> list[FileVersion]:
        """What the newest `limit` commits of the branch that changed the file made of it, newest first."""
        log = ("log", "-z", "--format=%H %at", "--no-show-signature", f"--max-count={limit}", BRANCH, "--", path)
        try:
            require_in_store(self._repository)
            with closing(self._repository.records(*log, timeout_s=_TIMEOUT_S)) as records:
                commits = [record.strip().split(" ") for record in islice(records, limit)]
            found = {one.place.hexsha: one for one in self._find([FilePlace(hexsha, path) for hexsha, _ in commits])}
            return [
                FileVersion(
                    hexsha=hexsha,
                    authored_ts=from_seconds(int(seconds)),
                    content=self._read_small(found.get(hexsha), max_bytes),
                )
                for hexsha, seconds in commits
            ]
        except (GitFailed, ValueError, OSError) as unreadable:
            raise no_history(self._path) from unreadable

    def find(self, places: Sequence[FilePlace]) -> list[FoundFile]:
        """Those of `places` where Git has a file, in their order. No path may have a line end in it."""
        try:
            require_in_store(self._repository)
            return self._find(places)
        except (GitFailed, ValueError, OSError) as unreadable:
            raise no_history(self._path) from unreadable

    def read(self, found: FoundFile) -> bytes:
        """The whole content: look at its size first."""
        try:
            return self._repository.git("cat-file", "blob", found.blob, timeout_s=_TIMEOUT_S)
        except (GitFailed, OSError) as unreadable:
            raise no_history(self._path) from unreadable

    def _find(self, places: Iterable[FilePlace]) -> list[FoundFile]:
        asked = list(places)
        told = "".join(f"{one.hexsha}:{one.path}\n" for one in asked).encode("utf-8", "surrogateescape")
        answers = self._repository.git("cat-file", _CHECK, stdin=told, timeout_s=_TIMEOUT_S).split(b"\n")[:-1]
        found = []
        for place, answer in zip(asked, answers, strict=True):
            words = answer.decode("ascii", "replace").split(" ")
            # Of what is missing the place is said again.
            if len(words) == 3 and words[1] == "blob":
                found.append(FoundFile(place=place, blob=words[0], size_bytes=int(words[2])))
        return found

    def _read_small(self, found: FoundFile | None, max_bytes: int) -> bytes | None:
        if found is None or found.size_bytes > max_bytes:
            return None
        return self._repository.git("cat-file", "blob", found.blob, timeout_s=_TIMEOUT_S)

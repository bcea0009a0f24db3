"""Shows an archive to people: its commits, what one of them changed, its folders and files as they are now.

Every look is bounded in what it reads and in time. Names and contents are whatever somebody put there.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from mcp_agent_mail.archive.history import ENTRY_FORMAT, HistoryEntry, entry_in, no_history
from mcp_agent_mail.archive.ownership import require_in_store
from mcp_agent_mail.archive.repository import BRANCH, ArchiveRepository
from mcp_agent_mail.core.clock import Micros, from_seconds, iso
from mcp_agent_mail.core.errors import InvalidInput, NotFound
from mcp_agent_mail.core.git.process import GitFailed

MOST_FILES = 200
"""Of one commit."""
MOST_DIFF_BYTES = 256 * 1024
MOST_LISTED = 1_000
"""Of one folder."""
MOST_FILE_BYTES = 512 * 1024
MOST_MESSAGE_BYTES = 64 * 1024
MOST_TIMES = 20_000
LONGEST_PATH = 1_000

_TIMEOUT_S = 10.0
"""Of one run of Git; a look has two or three."""
_HEXSHA = re.compile(r"[0-9a-f]{7,64}")
_FIRST_PARENT = ("--root", "--diff-merges=first-parent", "--no-renames", "--no-show-signature")


class UnknownCommit(NotFound):
    """The archive has no commit of this name."""


class UnknownPath(NotFound):
    """The archive has neither a file nor a folder there."""


class UnfitArchivePath(InvalidInput):
    """What stands for a path in an archive is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedFile:
    """A file that a commit wrote or removed; the lines are None where Git counts none, as in bytes."""

    path: str
    added: int | None
    removed: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitChange:
    """What a commit did. `told` is its message; `diff` begins what it changed, all of it where `is_whole_diff`.
    `files` are the first MOST_FILES, and `has_more_files` says that there are more.
    """

    entry: HistoryEntry
    told: str
    parents: tuple[str, ...]
    files: tuple[ChangedFile, ...] = ()
    has_more_files: bool = False
    diff: str = ""
    is_whole_diff: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedPath:
    """What lies in a folder. `size_bytes` is None of a folder."""

    name: str
    is_folder: bool
    size_bytes: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownFolder:
    """The first MOST_LISTED of what lies there, folders first."""

    path: str
    listed: tuple[ListedPath, ...]
    has_more: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownFile:
    """`content` is None of a file of more than MOST_FILE_BYTES."""

    path: str
    size_bytes: int
    content: bytes | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    kind: str
    name: str
    size: str
    path: str


class ArchiveReader:
    """Of the archive at `path`. Everything raises ArchiveRefused for what is no archive of ours, and ArchiveNotFound
    where nothing can be read.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._repository = ArchiveRepository(path, only_git=True)

    def commits(self, *, after: str | None, limit: int) -> list[HistoryEntry]:
        """The newest `limit` of the branch, or those that come after this one, newest first. Raises UnknownCommit."""
        with self._told():
            begin = BRANCH if after is None else self._require(after)
            skipped = () if after is None else ("--skip=1",)
            log = ("log", "-z", "--first-parent", "--no-show-signature", "--encoding=UTF-8", f"--max-count={limit}")
            records = self._repository.records(
                *log, *skipped, f"--format={ENTRY_FORMAT}", begin, "--", timeout_s=_TIMEOUT_S
            )
            with closing(records):
                return [entry_in(record) for record in records]

    def times(self, since: Micros) -> list[Micros]:
        """When the newest commits since then were made, newest first; at most MOST_TIMES."""
        with self._told():
            log = ("log", "-z", "--first-parent", "--no-show-signature", f"--max-count={MOST_TIMES}", "--format=%at")
            records = self._repository.records(*log, f"--since={iso(since)}", BRANCH, "--", timeout_s=_TIMEOUT_S)
            with closing(records):
                return [from_seconds(int(record)) for record in records]

    def change(self, hexsha: str, *, with_files: bool) -> CommitChange:
        """A commit, and what it changed if one may see that. Raises UnknownCommit."""
        with self._told():
            commit = self._require(hexsha)
            entry, told, parents = self._head(commit)
            if not with_files:
                return CommitChange(entry=entry, told=told, parents=parents)
            files = self._files(commit)
            shown = ("log", "-1", "--format=", "--patch", *_FIRST_PARENT, "--no-ext-diff", "--no-textconv")
            plain = ("--no-color", "--unified=3", "--src-prefix=a/", "--dst-prefix=b/")
            diff, is_whole = self._repository.beginning(
                *shown, *plain, commit, "--", most=MOST_DIFF_BYTES, timeout_s=_TIMEOUT_S
            )
        return CommitChange(
            entry=entry,
            told=told,
            parents=parents,
            files=tuple(files[:MOST_FILES]),
            has_more_files=len(files) > MOST_FILES,
            diff=diff.decode("utf-8", "replace"),
            is_whole_diff=is_whole,
        )

    def look(self, path: str) -> ShownFolder | ShownFile:
        """What the branch has at a path; the root at an empty one. Raises UnfitArchivePath, UnknownPath."""
        parts = _parts(path)
        with self._told():
            tree = f"{BRANCH}^{{tree}}"
            if not parts:
                return self._folder("", tree)
            clean = "/".join(parts)
            found = next((one for one in self._listed(tree, "--", clean) if one.path == clean), None)
            if found is None or found.kind == "commit":
                raise UnknownPath(
                    f"The archive has nothing at {clean!r:.300}.", hint="Begin at the root, and follow the names."
                )
            if found.kind == "tree":
                return self._folder(clean, found.name)
            size = int(found.size)
            content = None
            if size <= MOST_FILE_BYTES:
                content = self._repository.git("cat-file", "blob", found.name, timeout_s=_TIMEOUT_S)
            return ShownFile(path=clean, size_bytes=size, content=content)

    def _folder(self, path: str, tree: str) -> ShownFolder:
        with closing(self._listed(tree)) as entries:
            found = list(islice(entries, MOST_LISTED + 1))
        listed = [
            ListedPath(name=one.path, is_folder=one.kind == "tree", size_bytes=_size(one.size))
            for one in found[:MOST_LISTED]
        ]
        listed.sort(key=lambda one: (not one.is_folder, one.name))
        return ShownFolder(path=path, listed=tuple(listed), has_more=len(found) > MOST_LISTED)

    def _listed(self, tree: str, *paths: str) -> Generator[_Entry]:
        # Else a name that begins with a colon asks for something.
        listing = ("--literal-pathspecs", "ls-tree", "-z", "-l", tree)
        for record in self._repository.records(*listing, *paths, timeout_s=_TIMEOUT_S):
            facts, _, path = record.partition("\t")
            _, kind, name, size = facts.split()
            yield _Entry(kind=kind, name=name, size=size, path=path)

    def _require(self, hexsha: str) -> str:
        """The full name of a commit."""
        if _HEXSHA.fullmatch(hexsha) is None:
            raise _unknown(hexsha)
        said = self._repository.git(
            "cat-file", "--batch-check=%(objectname) %(objecttype)", stdin=hexsha.encode() + b"\n", timeout_s=_TIMEOUT_S
        )
        name, _, kind = said.decode("ascii", "replace").strip().partition(" ")
        if kind != "commit":
            raise _unknown(hexsha)
        return name

    def _head(self, commit: str) -> tuple[HistoryEntry, str, tuple[str, ...]]:
        log = ("log", "-1", "--no-show-signature", "--encoding=UTF-8", f"--format=%P%x1f{ENTRY_FORMAT}")
        said, _ = self._repository.beginning(*log, commit, "--", most=MOST_MESSAGE_BYTES, timeout_s=_TIMEOUT_S)
        parents, _, record = said.decode("utf-8", "replace").partition("\x1f")
        return entry_in(record), record.split("\x1f", 3)[3].strip(), tuple(parents.split())

    def _files(self, commit: str) -> list[ChangedFile]:
        log = ("log", "-1", "--format=", "--numstat", "-z", *_FIRST_PARENT, "--no-ext-diff", "--no-textconv")
        with closing(self._repository.records(*log, commit, "--", timeout_s=_TIMEOUT_S)) as records:
            told = islice((record.lstrip("\n") for record in records if record.strip("\n")), MOST_FILES + 1)
            return [_changed(record) for record in told]

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            require_in_store(self._repository)
            yield
        except (GitFailed, ValueError, OSError) as unreadable:
            raise no_history(self._path) from unreadable


def _changed(record: str) -> ChangedFile:
    added, removed, path = record.split("\t", 2)
    return ChangedFile(path=path, added=_size(added), removed=_size(removed))


def _size(text: str) -> int | None:
    return None if text == "-" else int(text)


def _parts(path: str) -> list[str]:
    parts = [part for part in path.split("/") if part]
    if len(path) > LONGEST_PATH or "\0" in path or any(part in (".", "..") for part in parts):
        raise UnfitArchivePath(
            f"{path[:200]!r} is no path in an archive.", hint="Begin at the root, and follow the names."
        )
    return parts


def _unknown(hexsha: str) -> UnknownCommit:
    return UnknownCommit(
        f"The archive has no commit {hexsha!r:.80}.", hint="Activity lists the newest; `git log` in it lists all."
    )

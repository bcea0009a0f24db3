"""Shows an archive to people: its commits, what one of them changed, its folders and files as they are now.

Every look is bounded in what it reads and in time. Names and contents are whatever somebody put there.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path

from mcp_agent_mail.archive.history import ENTRY_FORMAT, HistoryEntry, entry_in
from mcp_agent_mail.archive.reading.bounded_reader import BoundedReader, TimeBudget
from mcp_agent_mail.archive.repository import BRANCH
from mcp_agent_mail.core.clock import Micros, from_seconds, iso
from mcp_agent_mail.core.errors import InvalidInput, NotFound
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.lazy.pattern import lazy_pattern

MOST_FILES = 200
"""Of one commit."""
MOST_DIFF_BYTES = 256 * 1024
MOST_LISTED = 1_000
"""Of one folder at a time."""
MOST_FILE_BYTES = 512 * 1024
MOST_MESSAGE_BYTES = 64 * 1024
MOST_TIMES = 20_000
LONGEST_PATH = 1_000

_TIMEOUT_S = 10.0
"""Of one run of Git; a look has up to four."""
_HEXSHA = lazy_pattern(r"[0-9a-f]{7,64}")
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
    """MOST_LISTED of what lies there, behind the first `skipped` by name; of these folders first."""

    path: str
    listed: tuple[ListedPath, ...]
    has_more: bool
    skipped: int = 0


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
    path: str


class ArchiveReader:
    """Of the archive at `path`. Everything raises ArchiveRefused for what is no archive of ours, and ArchiveNotFound
    where nothing can be read; with a budget `within` ArchiveReadTooLong where that is used up.
    """

    def __init__(self, path: Path, *, within: TimeBudget | None = None) -> None:
        self._reader = BoundedReader(path, timeout_s=_TIMEOUT_S, within=within)

    def commits(self, *, after: str | None, limit: int) -> list[HistoryEntry]:
        """The newest `limit` of the branch, or those that come after this one, newest first. Raises UnknownCommit."""
        with self._reader.told():
            begin = (BRANCH,) if after is None else ("--skip=1", self._require(after))
            log = self._reader.log("--first-parent", *begin, "--", form=ENTRY_FORMAT, most=limit)
            return [entry_in(record) for record in log]

    def times(self, since: Micros) -> list[Micros]:
        """When the newest commits since then were made, newest first; at most MOST_TIMES."""
        with self._reader.told():
            log = self._reader.log("--first-parent", f"--since={iso(since)}", BRANCH, "--", form="%at", most=MOST_TIMES)
            return [from_seconds(int(record)) for record in log]

    def change(self, hexsha: str, *, with_files: bool) -> CommitChange:
        """A commit, and what it changed if one may see that. Raises UnknownCommit."""
        with self._reader.told():
            commit = self._require(hexsha)
            entry, told, parents = self._head(commit)
            if not with_files:
                return CommitChange(entry=entry, told=told, parents=parents)
            files = self._files(commit)
            shown = ("log", "-1", "--format=", "--patch", *_FIRST_PARENT, "--no-ext-diff", "--no-textconv")
            plain = ("--no-color", "--unified=3", "--src-prefix=a/", "--dst-prefix=b/")
            diff, is_whole = self._reader.beginning(*shown, *plain, commit, "--", most=MOST_DIFF_BYTES)
        return CommitChange(
            entry=entry,
            told=told,
            parents=parents,
            files=tuple(files[:MOST_FILES]),
            has_more_files=len(files) > MOST_FILES,
            diff=diff.decode("utf-8", "replace"),
            is_whole_diff=is_whole,
        )

    def look(self, path: str, *, skip: int = 0) -> ShownFolder | ShownFile:
        """What the branch has at a path; the root at an empty one. Of a folder what comes behind the first `skip`.
        Raises UnfitArchivePath, UnknownPath.
        """
        parts = _parts(path)
        with self._reader.told():
            tree = f"{BRANCH}^{{tree}}"
            if not parts:
                return self._folder("", tree, skip)
            clean = "/".join(parts)
            with closing(self._listed(tree, "--", clean)) as entries:
                found = next((one for one in entries if one.path == clean), None)
            if found is None or found.kind == "commit":
                raise UnknownPath(
                    f"The archive has nothing at {clean!r:.300}.", hint="Begin at the root, and follow the names."
                )
            if found.kind == "tree":
                return self._folder(clean, found.name, skip)
            size = self._sizes([found]).get(found.name)
            if size is None:
                raise ValueError(f"Git lists {clean!r:.300} and has no content of it")
            content = self._reader.blob(found.name) if size <= MOST_FILE_BYTES else None
            return ShownFile(path=clean, size_bytes=size, content=content)

    def _folder(self, path: str, tree: str, skip: int) -> ShownFolder:
        with closing(self._listed(tree)) as entries:
            found = list(islice(entries, skip, skip + MOST_LISTED + 1))
        shown = found[:MOST_LISTED]
        sizes = self._sizes(shown)
        listed = [
            ListedPath(name=one.path, is_folder=one.kind == "tree", size_bytes=sizes.get(one.name)) for one in shown
        ]
        listed.sort(key=lambda one: (not one.is_folder, one.name))
        return ShownFolder(path=path, listed=tuple(listed), has_more=len(found) > MOST_LISTED, skipped=skip)

    def _listed(self, tree: str, *paths: str) -> Generator[_Entry]:
        """In the order of Git, by name, without sizes: for those Git reads each object."""
        # Else a name that begins with a colon asks for something.
        for record in self._reader.records("--literal-pathspecs", "ls-tree", "-z", tree, *paths):
            facts, _, path = record.partition("\t")
            _, kind, name = facts.split()
            yield _Entry(kind=kind, name=name, path=path)

    def _sizes(self, entries: Sequence[_Entry]) -> dict[str, int]:
        """Of the files among them, by the names of their contents."""
        found = self._reader.objects([one.name for one in entries if one.kind == "blob"])
        return {one.name: one.size_bytes for one in found if one is not None}

    def _require(self, hexsha: str) -> str:
        """The full name of a commit."""
        found = self._reader.objects([hexsha])[0] if _HEXSHA.fullmatch(hexsha) else None
        if found is None or found.kind != "commit":
            raise _unknown(hexsha)
        return found.name

    def _head(self, commit: str) -> tuple[HistoryEntry, str, tuple[str, ...]]:
        log = ("log", "-1", "--no-show-signature", "--encoding=UTF-8", f"--format=%P%x1f{ENTRY_FORMAT}")
        said, _ = self._reader.beginning(*log, commit, "--", most=MOST_MESSAGE_BYTES)
        parents, _, record = said.decode("utf-8", "replace").partition("\x1f")
        return entry_in(record), record.split("\x1f", 3)[3].strip(), tuple(parents.split())

    def _files(self, commit: str) -> list[ChangedFile]:
        log = ("log", "-1", "--format=", "--numstat", "-z", *_FIRST_PARENT, "--no-ext-diff", "--no-textconv")
        with closing(self._reader.records(*log, commit, "--")) as records:
            told = islice((record.lstrip("\n") for record in records if record.strip("\n")), MOST_FILES + 1)
            return [_changed(record) for record in told]


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

"""Keeps `git status` clean: the index follows the branch when the writer has time.

Commits are made without the index, so it lags behind until it is refreshed. Only what has changed
since the last refresh is written into it: what a person has staged stays staged. Git works on an
index of our own, which then takes the place of the repository's at once: nobody waits for the lock
meanwhile, and whatever ends it before its time leaves the old one.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from mcp_agent_mail.archive.folders import NotAFile, opened, opened_file
from mcp_agent_mail.archive.git_folder import said_in
from mcp_agent_mail.archive.repository import ArchiveRepository
from mcp_agent_mail.archive.steps import Steps, Syncing, sync_each
from mcp_agent_mail.core.errors import Unavailable
from mcp_agent_mail.core.failpoints import FailPoint, FaultHook
from mcp_agent_mail.core.git.process import GitFailed
from mcp_agent_mail.domain.archive_format.layout import ARCHIVE_FILE

_TRIES = 3
_PIECE = 1 << 20
_MOST_BYTES = 1 << 30
_NOTED = re.compile(r"([0-9a-f]{40}|[0-9a-f]{64})(?: ([0-9]{1,18}))?\n?")


class IndexLocked(Unavailable):
    """Another Git is at work in the archive's work tree, or was killed there."""


class _IndexMoved(Exception):  # never leaves this module
    """A person's Git has written the index while we worked on its copy."""


# Names without what they share with the one before: a quarter less.
_CONFIG = ("index.version=4",)


def follow_branch(repository: ArchiveRepository, tip: str, note: Path, fault_hook: FaultHook) -> Steps[int]:
    """Bring the index to `tip` and put it on disk; how many files that has.

    `note` remembers both between runs, one by one. The work tree must show the branch.
    """
    indexed, files = _read(note)
    if indexed == tip and files is not None:
        return files
    require_unlocked(repository)
    own = _OwnIndex(repository, note.with_name("index.new"))
    try:
        change = yield from _make(own, indexed, tip, fault_hook)
    finally:
        own.remove()
    known = None if change is None or files is None else files + change
    count = (yield from _count_files(repository, tip)) if known is None else known
    fresh = note.with_suffix(".new")
    fresh.write_text(f"{tip} {count}")
    fresh.replace(note)
    return count


def _make(own: _OwnIndex, indexed: str, tip: str, fault_hook: FaultHook) -> Steps[int | None]:
    """By how many files the index has grown; None when it was built anew."""
    for _ in range(_TRIES):
        own.begin()
        change = (yield from _advance(own, indexed, tip)) if indexed else None
        if change is None:
            yield from _rebuild(own, tip)
        yield from _match_files(own)
        yield Syncing(own.sync)
        try:
            own.publish(fault_hook)
        except _IndexMoved:
            continue
        return change
    raise IndexLocked(
        f"The index of {own.repository.path} is being changed by somebody. Commits go on.",
        hint="Nothing is needed: it is brought up to date once it is left alone.",
    )


class _OwnIndex:
    """A copy of the repository's index for Git to work on, inside `.git` too."""

    def __init__(self, repository: ArchiveRepository, path: Path) -> None:
        self.repository = repository
        self.path = path
        self._theirs = repository.git_path / "index"
        self._facts: tuple[int, int, int] | None = None

    def begin(self) -> None:
        self.remove()
        self._facts = self._look()
        with suppress(FileNotFoundError):
            # The time belongs to it: Git reads again what was changed since.
            shutil.copy2(self._theirs, self.path)

    def remove(self) -> None:
        self.path.unlink(missing_ok=True)
        self.path.with_name(f"{self.path.name}.lock").unlink(missing_ok=True)

    def sync(self) -> None:
        sync_each([self.path])

    def git(self, *arguments: str, stdin: bytes = b"") -> Steps[bytes]:
        given = yield self.repository.start(*arguments, stdin=stdin, config=_CONFIG, index_path=self.path)
        return given

    def publish(self, fault_hook: FaultHook) -> None:
        """Let it take the place of the repository's, unless that has changed. Raises IndexLocked, _IndexMoved."""
        lock = self.repository.git_path / "index.lock"
        try:
            lock.touch(exist_ok=False)
        except FileExistsError:
            require_unlocked(self.repository)
            raise _IndexMoved from None
        fault_hook(FailPoint.INDEX_REPLACE)
        try:
            if self._look() != self._facts:
                raise _IndexMoved
            self.path.replace(self._theirs)
        finally:
            lock.unlink(missing_ok=True)

    def _look(self) -> tuple[int, int, int] | None:
        try:
            facts = self._theirs.stat()
        except FileNotFoundError:
            return None
        return facts.st_ino, facts.st_mtime_ns, facts.st_size


def _read(note: Path) -> tuple[str, int | None]:
    """The commit the index stands at and its number of files; nothing where it is not known.

    What a loss of power or a person left of the note tells nothing.
    """
    with suppress(OSError):
        if said := _NOTED.fullmatch(said_in(note) or ""):
            return said[1], None if said[2] is None else int(said[2])
    return "", None


def is_index_torn(repository: ArchiveRepository) -> bool:
    """Is the index other than Git wrote it, or one that Git cannot read? None at all is not.

    Git checks the checksum that an index ends with in `fsck` alone: sectors that a loss of power emptied pass for
    entries or for the folders it knows, and `sparse-checkout` writes those into the repository. One that was written
    without a checksum (`index.skipHash`) looks the same, and counts as torn; so does one over a gibibyte, unread.
    Raises OSError where it cannot be told just now.
    """
    try:
        with opened(repository.git_path) as folder, opened_file(folder, "index") as file:
            if os.fstat(file).st_size > _MOST_BYTES:
                return True
            if not any(_has_checksum(file, algorithm) for algorithm in ("sha1", "sha256")):
                return True
    except FileNotFoundError:
        return False
    except OSError as failed:
        if isinstance(failed, NotAFile | IsADirectoryError | NotADirectoryError) or failed.errno == errno.EIO:
            return True
        raise
    try:
        repository.git("ls-files", "-z", "--", ARCHIVE_FILE)
    except GitFailed:
        return True
    return False


def _has_checksum(file: int, algorithm: str) -> bool:
    made = hashlib.new(algorithm, usedforsecurity=False)
    with open(file, "rb", closefd=False) as stream:
        left = stream.seek(0, os.SEEK_END) - made.digest_size
        stream.seek(0)
        while left > 0 and (piece := stream.read(min(left, _PIECE))):
            made.update(piece)
            left -= len(piece)
        return left == 0 and stream.read(made.digest_size + 1) == made.digest()


def _count_files(repository: ArchiveRepository, tip: str) -> Steps[int]:
    ends = yield repository.start("ls-tree", "-r", "-z", "--format=", tip)
    return len(ends)


def require_unlocked(repository: ArchiveRepository) -> None:
    """Raise IndexLocked while another Git is at work on the index, or was killed there."""
    lock = repository.git_path / "index.lock"
    if lock.exists():
        raise IndexLocked(
            f"{lock} exists: another Git is at work in this archive, or was killed there. Commits go on.",
            hint=f"Nothing is needed while it works. If no other Git runs there, remove {lock}.",
            data={"path": str(lock)},
        )


def _advance(own: _OwnIndex, indexed: str, tip: str) -> Steps[int | None]:
    """Write the difference of two commits into the index; by how many files it has grown.

    None when the index cannot be trusted.
    """
    if not own.path.exists():
        return None
    try:
        changes = yield from own.git("diff-tree", "-r", "-z", "--no-renames", indexed, tip)
        lines = b"".join(_index_lines(changes))
        yield from own.git("update-index", "-z", "--index-info", stdin=lines)
    except GitFailed:
        return None
    kinds = [entry[-1:] for entry in changes.split(b"\0")[:-1:2]]
    return kinds.count(b"A") - kinds.count(b"D")


def _index_lines(changes: bytes) -> Iterator[bytes]:
    fields = iter(changes.split(b"\0")[:-1])
    for entry, path in zip(fields, fields, strict=True):
        _, mode, _, blob, _ = entry.split(b" ")
        yield b"%s %s\t%s\0" % (mode, blob, path)


def _rebuild(own: _OwnIndex, tip: str) -> Steps[None]:
    try:
        yield from own.git("read-tree", "-m", tip)
    except GitFailed:
        # What a person has staged goes only when Git cannot read it.
        own.remove()
        yield from own.git("read-tree", tip)


def _match_files(own: _OwnIndex) -> Steps[None]:
    """Note size and time of the files, so that `git status` need not read them."""
    # Ends with code 1 when a person has changed a file: that is theirs to see in `git status`.
    with suppress(GitFailed):
        yield from own.git("update-index", "-q", "--refresh")

"""The contents of attachments beside the database: each once, in `attachments/<xx>/<sha256>`.

A name in place is always whole: what is written is staged beside it, synced, and then renamed. The folder is the
server's own, and private. Contents may be large and the disk slow: callers run all of it on threads.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from io import BufferedReader, FileIO
from pathlib import Path
from secrets import token_hex

from mcp_agent_mail.core.errors import InvalidInput
from mcp_agent_mail.core.failpoints import FailPoint, FaultHook, no_fault
from mcp_agent_mail.core.file_sync import sync_path
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.attachments import HEAD_BYTES, ContentKind, StoredContent, kind_of

ATTACHMENTS_FOLDER = "attachments"
"""Below STORAGE_ROOT."""

UNTOUCHED_S = 86_400.0
"""A send surely ends in this time, and then mail carries what it kept."""

_STAGED = "staged"
_LOCK = "lock"
_CHUNK = 1 << 20
_OWNER_ONLY = 0o700
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_PLAIN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_SHA256 = re.compile(r"[0-9a-f]{64}")
_SHORT = re.compile(r"[0-9a-f]{2}")


class AttachmentTooLarge(InvalidInput):
    """More bytes than one attachment may have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedContent:
    """Bytes that were written down and are not kept yet: `path` holds them until they are kept or discarded."""

    path: Path
    sha256: str
    bytes: int
    kind: ContentKind

    @property
    def stored(self) -> StoredContent:
        """What it is once it is kept."""
        return StoredContent(sha256=self.sha256, bytes=self.bytes, extension=self.kind.extension)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptContent:
    """`untouched_s`: seconds since somebody last asked for it to be kept."""

    sha256: str
    bytes: int
    untouched_s: float


class AttachmentFiles:
    """`STORAGE_ROOT/attachments`; made when the first content is staged. Safe on many threads and in many processes."""

    def __init__(self, folder: Path, *, fault_hook: FaultHook = no_fault) -> None:
        self._folder = folder
        self._fault_hook = fault_hook
        self._is_made = False

    def stage(self, source: int | Iterable[bytes], max_bytes: int) -> StagedContent:
        """Write down what an open descriptor holds from where it stands, or what is given piece by piece.

        Raises AttachmentTooLarge as soon as there are more than `max_bytes`; then, and when the disk fails (OSError),
        nothing is left. Whoever does not `keep` it has to `discard` it.
        """
        if isinstance(source, int) and (size := os.fstat(source).st_size) > max_bytes:
            raise _too_large(max_bytes, size)
        self._make()
        path = self._folder / _STAGED / token_hex(16)
        try:
            return _write(path, _chunks(source) if isinstance(source, int) else source, max_bytes)
        except BaseException:
            path.unlink(missing_ok=True)
            raise

    def discard(self, staged: StagedContent) -> None:
        """Safe to repeat, and of what was kept."""
        staged.path.unlink(missing_ok=True)

    def keep(self, staged: StagedContent) -> StoredContent:
        """Once this returns, the content survives a loss of power. One that is there already is touched, not written
        twice; one that was damaged is written anew. On OSError it is still staged, or in place whole.
        """
        place = self._place(staged.sha256)
        with self._locked(fcntl.LOCK_SH):
            is_there = _touch(place, staged)
        if is_there:
            staged.path.unlink(missing_ok=True)
        else:
            self._put(staged.path, place)
        self._fault_hook(FailPoint.CONTENT_NAMED)
        # Whoever put it there may not have come so far, or may have been killed.
        sync_path(place.parent, follow=False)
        sync_path(self._folder, follow=False)
        self._fault_hook(FailPoint.CONTENT_KEPT)
        return staged.stored

    def open(self, sha256: str) -> BufferedReader:
        """To read; the caller closes it. Raises FileNotFoundError, also for what is no digest."""
        descriptor = os.open(self._place(sha256), _PLAIN)
        return os.fdopen(descriptor, "rb")

    def size(self, sha256: str) -> int | None:
        """In bytes; None where there is no such content."""
        try:
            found = os.lstat(self._place(sha256))
        except FileNotFoundError:
            return None
        return found.st_size if stat.S_ISREG(found.st_mode) else None

    def remove(self, sha256: str, *, untouched_s: float = 0) -> bool:
        """Remove the content unless somebody has asked for it to be kept in the last `untouched_s` seconds. Was it?

        Whoever found that no mail carries it names a time in which a send surely ends: one that is under way has
        touched it.
        """
        with suppress(FileNotFoundError), self._locked(fcntl.LOCK_EX):
            place = self._place(sha256)
            if untouched_s <= 0 or _untouched_s(os.lstat(place)) >= untouched_s:
                place.unlink()
                return True
        return False

    def each(self) -> Iterator[KeptContent]:
        """All that are there, in the order of their names, folder by folder."""
        for folder in sorted(_names(self._folder, _SHORT)):
            for name in sorted(_names(self._folder / folder, _SHA256)):
                with suppress(FileNotFoundError):
                    found = os.lstat(self._folder / folder / name)
                    yield KeptContent(sha256=name, bytes=found.st_size, untouched_s=_untouched_s(found))

    def remove_leftovers(self) -> int:
        """Remove what was staged when a process was killed, and say how many there were. Only while nobody stages:
        before the store is served. What cannot be removed, a folder of somebody's, stays.
        """
        count = 0
        for name in _names(self._folder / _STAGED):
            with suppress(OSError):
                (self._folder / _STAGED / name).unlink()
                count += 1
        return count

    def _put(self, staged: Path, place: Path) -> None:
        os.utime(staged, follow_symlinks=False)
        sync_path(staged, follow=False)
        self._fault_hook(FailPoint.CONTENT_STAGED)
        place.parent.mkdir(mode=_OWNER_ONLY, exist_ok=True)
        with self._locked(fcntl.LOCK_SH):
            staged.rename(place)

    def _place(self, sha256: str) -> Path:
        if not _SHA256.fullmatch(sha256):
            raise FileNotFoundError(f"{sha256[:100]!r} names no content")
        return self._folder / sha256[:2] / sha256

    @contextmanager
    def _locked(self, how: int) -> Iterator[None]:
        """Shared by those who keep, alone for who removes: what is touched is not removed in the same instant."""
        lock = os.open(self._folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, how)
            yield
        finally:
            os.close(lock)

    def _make(self) -> None:
        if self._is_made and (self._folder / _STAGED).is_dir():
            return
        for folder in (self._folder, self._folder / _STAGED):
            folder.mkdir(mode=_OWNER_ONLY, exist_ok=True)
        sync_path(self._folder.parent, follow=False)
        self._is_made = True


def _write(path: Path, chunks: Iterable[bytes], max_bytes: int) -> StagedContent:
    hashed = hashlib.sha256()
    size = 0
    head = b""
    with os.fdopen(os.open(path, _NEW, 0o600), "wb", buffering=0) as file:
        for chunk in chunks:
            size += len(chunk)
            if size > max_bytes:
                raise _too_large(max_bytes)
            head += chunk[: HEAD_BYTES - len(head)]
            hashed.update(chunk)
            rest = memoryview(chunk)
            while rest:
                rest = rest[file.write(rest) :]
    return StagedContent(path=path, sha256=hashed.hexdigest(), bytes=size, kind=kind_of(head))


def _chunks(descriptor: int) -> Iterator[bytes]:
    while chunk := os.read(descriptor, _CHUNK):
        yield chunk


def _touch(place: Path, staged: StagedContent) -> bool:
    """Is the content in place, byte for byte? A name and a size alone would be believed for what a disk had spoilt."""
    try:
        with os.fdopen(os.open(place, _PLAIN), "rb", buffering=0) as kept:
            found = os.fstat(kept.fileno())
            if not stat.S_ISREG(found.st_mode) or found.st_size != staged.bytes or not _has_bytes_of(kept, staged.path):
                return False
            os.utime(kept.fileno())
    except OSError:
        return False  # Not there, a link, or not to be read.
    return True


def _has_bytes_of(kept: FileIO, path: Path) -> bool:
    with path.open("rb", buffering=0) as fresh:
        while chunk := fresh.read(_CHUNK):
            if kept.read(len(chunk)) != chunk:
                return False
    return True


def _untouched_s(found: os.stat_result) -> float:
    return time.time() - found.st_mtime


def _names(folder: Path, form: re.Pattern[str] | None = None) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return [entry.name for entry in entries if form is None or form.fullmatch(entry.name)]
    except FileNotFoundError:
        return []


def _too_large(max_bytes: int, size: int | None = None) -> AttachmentTooLarge:
    """`size`: where it is known."""
    has = "more" if size is None else f"{size:,}"
    return AttachmentTooLarge(
        f"An attachment may have {max_bytes:,} bytes (ATTACHMENT_MAX_BYTES), and this one has {has}.",
        hint="Send a smaller file, or say in the message where the large one lies.",
        data={"limit_bytes": max_bytes} | ({} if size is None else {"bytes": size}),
    )

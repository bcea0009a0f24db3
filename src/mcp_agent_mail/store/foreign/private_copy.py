"""A private copy of another system's database, so that the original is neither locked, nor written, nor waited for.

SQLite writes beside a database that it only reads (the index of its log, a rollback after a crash): here it does so
beside the copy.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from mcp_agent_mail.core.disk_space import disk_full, free_bytes, is_want_of_room
from mcp_agent_mail.core.errors import Unavailable
from mcp_agent_mail.core.plain_files import reason_of
from mcp_agent_mail.domain.importing.refusals import in_use, unreadable, wrong_path
from mcp_agent_mail.domain.own_files import is_database, is_sqlite

SUFFIXES = ("", "-wal", "-journal")
"""Of the files that make a database. The index of its log (`-shm`) SQLite makes anew of the log."""

_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_PIECE = 1 << 20
_TRIES = 5
_HEAD = 100
_SPARE = 64 << 20
"""So much must be left beside the copy."""


def copy_privately(source: Path, folder: Path) -> Path:
    """The copy, in `folder`, which is private and empty. The links on the way to the file are followed, the file itself
    is none. Raises SourceUnreadable, SourceInUse while somebody writes all the time, DiskFull.
    """
    for _ in range(_TRIES):
        before = _state(source)
        _require_room(sum(size for size, _, _ in before.values()), folder)
        target = folder / "source.sqlite3"
        for suffix in before:
            _copy(Path(f"{source}{suffix}"), Path(f"{target}{suffix}"))
        if _state(source) == before:
            return target
        for suffix in SUFFIXES:
            Path(f"{target}{suffix}").unlink(missing_ok=True)
    raise in_use(source)


def _state(source: Path) -> dict[str, tuple[int, int, int]]:
    """Size, time of the last change and inode of each file there is."""
    found = {}
    for suffix in SUFFIXES:
        path = Path(f"{source}{suffix}")
        try:
            seen = path.lstat()
        except (FileNotFoundError, NotADirectoryError):
            if not suffix:
                raise wrong_path(source, "there is no such file") from None
            continue
        except (OSError, ValueError) as failed:
            raise wrong_path(path, reason_of(failed)) from failed
        if not stat.S_ISREG(seen.st_mode):
            raise wrong_path(
                path, "it is no ordinary file" if not stat.S_ISLNK(seen.st_mode) else "it is a symbolic link"
            )
        found[suffix] = (seen.st_size, seen.st_mtime_ns, seen.st_ino)
    return found


def _require_room(size: int, folder: Path) -> None:
    if free_bytes(folder) < size + _SPARE:
        raise disk_full(folder)


def _copy(source: Path, target: Path) -> None:
    try:
        reading = open_unchanged(source)
    except FileNotFoundError:
        return  # A log that has just gone: the next look notices.
    except OSError as failed:
        raise wrong_path(source, reason_of(failed)) from failed
    try:
        copy_open(reading, target, source)
    finally:
        os.close(reading)


def copy_open(reading: int, target: Path, source: Path) -> None:
    """All of the open file, from its beginning, into a new file of this user's alone. Raises SourceUnreadable, DiskFull
    also where a bound on files or a quota is reached, and Unavailable for what else keeps it from being written.
    """
    at = 0
    try:
        # With a buffer: a bare write may take less than all, without an error.
        with os.fdopen(os.open(target, _NEW, 0o600), "wb") as copy:
            while piece := _piece_of(reading, at, source):
                copy.write(piece)
                at += len(piece)
    except OSError as failed:
        if is_want_of_room(failed) or failed.errno == errno.EFBIG:
            raise disk_full(target.parent) from failed
        raise Unavailable(
            f"The private copy {target} cannot be written: {reason_of(failed)}.",
            hint="Nothing was changed. TMPDIR says where temporary files go.",
        ) from failed


def _piece_of(reading: int, at: int, source: Path) -> bytes:
    try:
        return os.pread(reading, _PIECE, at)
    except OSError as failed:
        raise unreadable(source, reason_of(failed)) from failed


def open_unchanged(path: Path | str, *, dir_fd: int | None = None) -> int:
    """For reading, without a trace where the system lets us: its time of access stays too, if it is this user's."""
    no_trace = getattr(os, "O_NOATIME", 0)
    try:
        return os.open(path, _FILE | no_trace, dir_fd=dir_fd)
    except PermissionError:
        if not no_trace:
            raise
        return os.open(path, _FILE, dir_fd=dir_fd)


def require_foreign_database(path: Path) -> None:
    """Raise SourceUnreadable unless the file begins as a database of SQLite, and not as one of ours."""
    try:
        descriptor = open_unchanged(path)
    except (FileNotFoundError, NotADirectoryError):
        raise wrong_path(path, "there is no such file") from None
    except (OSError, ValueError) as failed:
        raise wrong_path(path, reason_of(failed)) from failed
    try:
        head = os.read(descriptor, _HEAD) if stat.S_ISREG(os.fstat(descriptor).st_mode) else None
    except OSError as failed:
        raise wrong_path(path, reason_of(failed)) from failed
    finally:
        os.close(descriptor)
    if head is None:
        raise wrong_path(path, "it is no ordinary file")
    if is_database(head):
        raise wrong_path(path, "it is a database of this program itself (am doctor backups and restore move those)")
    if not is_sqlite(head):
        raise wrong_path(path, "it is empty" if not head else "it is no SQLite database")

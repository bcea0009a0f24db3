"""The file beside a target in which its new content lies until it has the target's name: one writer's at a time.

Its name is always the same, so that whoever comes next finds what a kill has left. Whose it is the kernel's lock on it
says (`flock`), which ends with its holder: a file that nobody has locked is such a rest, and goes. The target's folder
cannot be locked instead: a server holds that of its store, where a `.env` may lie too.
"""

from __future__ import annotations

import fcntl
import os
import shlex
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import StrEnum
from pathlib import Path

from mcp_agent_mail.core.errors import Conflict

STAGED_SUFFIX = ".agent-mail-new"
PATIENCE_S = 10.0
"""How long a writer waits for another one: writes take milliseconds."""

_POLL_S = 0.01
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_FOUND = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY


class _Lock(StrEnum):
    """Whose the lock on a file is once we have tried to take it."""

    OURS = "ours"
    ANOTHERS = "another's"
    UNKNOWN = "unknown"
    """The file system knows none."""


class FileNotWritable(Conflict):
    """A file that is left alone: no plain one, not ours to write, or changed while we were at it."""


class FileBusy(FileNotWritable):
    """Another command is writing the file, and was not done in time."""


def staged_at(real: Path) -> Path:
    """Where the new content lies until it has its name; what a kill has left there goes with the next try."""
    return real.with_name(f".{real.name}{STAGED_SUFFIX}")


@contextmanager
def staged_alone(real: Path, *, patience_s: float = PATIENCE_S) -> Iterator[int]:
    """A new, empty file (0600) at `staged_at(real)`, open for writing: no other writer has one until this ends, nor
    passes this one's off as its own. What is still there then, goes. Raises FileBusy, FileNotWritable where a folder
    has its name, and OSError.
    """
    staged = staged_at(real)
    descriptor = _taken(staged, time.monotonic() + patience_s)
    try:
        yield descriptor
    finally:
        # Before the lock ends: later the name may be another's.
        try:
            if _is_at(descriptor, staged):
                staged.unlink()
        finally:
            os.close(descriptor)


def remove_left(real: Path) -> None:
    """What a kill has left beside the file goes; what somebody is writing there stays, and a folder."""
    with suppress(FileNotFoundError, FileNotWritable):
        _remove_unless_held(staged_at(real))


def _taken(staged: Path, until: float) -> int:
    while True:
        with suppress(FileExistsError):
            descriptor = os.open(staged, _NEW, 0o600)
            # Somebody may have taken it for a rest since.
            if _try_lock(descriptor) is not _Lock.ANOTHERS and _is_at(descriptor, staged):
                return descriptor
            os.close(descriptor)
        try:
            with suppress(FileNotFoundError):
                _remove_unless_held(staged)
        except FileBusy:
            if time.monotonic() >= until:
                raise
            time.sleep(_POLL_S)


def _remove_unless_held(staged: Path) -> None:
    """Raises FileBusy, FileNotWritable for a folder, which none of ours has left, FileNotFoundError and OSError. No
    link, FIFO or the like is ever a writer's.
    """
    mode = staged.lstat().st_mode
    if stat.S_ISDIR(mode):
        raise _folder_in_the_way(staged)
    if not stat.S_ISREG(mode):
        staged.unlink()
        return
    try:
        descriptor = os.open(staged, _FOUND)
    except PermissionError as closed:
        raise _busy(staged) from closed
    try:
        if _try_lock(descriptor) is not _Lock.OURS:
            raise _busy(staged)
        if _is_at(descriptor, staged):
            staged.unlink()
    finally:
        os.close(descriptor)


def _try_lock(descriptor: int) -> _Lock:
    """Take the lock if nobody has it; it ends with the descriptor."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return _Lock.ANOTHERS
    except OSError:
        return _Lock.UNKNOWN
    return _Lock.OURS


def _is_at(descriptor: int, staged: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), staged.lstat())
    except FileNotFoundError:
        return False


def _busy(staged: Path) -> FileBusy:
    return FileBusy(
        f"another command is writing it, in {staged}",
        hint="Run the same command again once that one has ended. If none runs, remove what it has left: "
        f"rm {shlex.quote(str(staged))}",
        data={"path": str(staged)},
    )


def _folder_in_the_way(staged: Path) -> FileNotWritable:
    return FileNotWritable(
        f"the folder {staged} is in the way: its new content is written under that name first",
        hint=f"See what is in it (ls -la {shlex.quote(str(staged))}), move it away, and run the same command again.",
        data={"path": str(staged)},
    )

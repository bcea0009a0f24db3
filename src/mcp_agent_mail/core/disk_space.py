"""How much room a disk has left, and what a person is told who has run out of it: which disk, and what to do."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from tempfile import gettempdir
from typing import IO

from mcp_agent_mail.core.errors import Unavailable

HARDLY_ANY_BYTES = 128 * 1024
"""With less, an I/O error of SQLite is for want of room: it says so only of the files that it writes with `write`."""
NEARLY_FULL_BYTES = 4 * 1024 * 1024
"""With less where Git works, what makes it fail is want of room first: it does not always say so. What else there is
shows once there is room.
"""
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
NO_ROOM_WORDS = tuple(os.strerror(number) for number in _NO_ROOM)


class DiskFull(Unavailable):
    """There is no room on a disk that is needed: the store's, or one that a copy of it is to be made on."""


def is_want_of_room(error: BaseException) -> bool:
    """Whether the operating system says it."""
    return isinstance(error, OSError) and error.errno in _NO_ROOM


def free_bytes(place: Path) -> int:
    """What the disk that `place` lies on, or will, has left for this user."""
    return shutil.disk_usage(_there(place)).free


def nearly_full(places: Iterable[Path]) -> Path | None:
    """The first of them, and of where temporary files go, that lies on a disk with less than NEARLY_FULL_BYTES."""
    for place in (*places, Path(gettempdir())):
        with suppress(OSError):
            if free_bytes(place) < NEARLY_FULL_BYTES:
                return place
    return None


def reserve(file: IO[bytes], size: int) -> None:
    """Of what is written to `file` so much finds room, if there is any now; it reads as NUL bytes until then."""
    with suppress(OSError, AttributeError):  # Not every system can.
        os.posix_fallocate(file.fileno(), 0, size)


def disk_full(place: Path) -> DiskFull:
    """Of the disk that `place` lies on, or will."""
    there = _there(place).resolve()
    disk = next(folder for folder in (there, *there.parents) if os.path.ismount(folder))
    free = free_bytes(place)
    again = "" if free < NEARLY_FULL_BYTES else " again, less than is needed"
    return DiskFull(
        f"The disk mounted at {disk}, which holds {place}, is full: {free / 2**20:.1f} MiB are free{again}.",
        hint=f"Free some room there (du -xh {disk} | sort -h | tail shows what is large), or name a folder on another "
        "disk (STORAGE_ROOT, BACKUP_DIR, TMPDIR), then try again. What was acknowledged is kept.",
        data={"path": str(place), "disk": str(disk), "free_mib": round(free / 2**20, 1)},
    )


def room_lacking(failed: OSError) -> DiskFull:
    """What is told of it where nobody knows more than it says."""
    if isinstance(failed.filename, str):
        return disk_full(Path(failed.filename))
    return DiskFull(
        f"A disk is full: {failed.strerror}.",
        hint="Free some room on it (df -h shows which it is), or name a folder on another disk (STORAGE_ROOT, "
        "BACKUP_DIR, TMPDIR), then try again. What was acknowledged is kept.",
    )


def _there(place: Path) -> Path:
    """`place`, or the nearest folder above it that is there."""
    return next(folder for folder in (place, *place.parents) if folder.exists())

"""A disk without room for a start or a command is told as that: which disk, and what to do."""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mcp_agent_mail.core.errors import Unavailable
from mcp_agent_mail.store.engine.faults import is_full, is_outside_fault

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
HARDLY_ANY_BYTES = 128 * 1024
"""With less, an I/O error of SQLite is for want of room: it says so only of the files that it writes with `write`."""


class DiskFull(Unavailable):
    """There is no room on a disk that is needed: the store's, or one that a copy of it is to be made on."""


@contextmanager
def told_when_full(*places: Path) -> Iterator[None]:
    """Inside, a failure for want of room is raised as DiskFull. Of several `places` (the store's folder, its database)
    the one with the least room is meant.
    """
    try:
        yield
    except Exception as error:
        fullest = min(places, key=free_bytes)
        if not _is_for_want_of_room(error, has_any=free_bytes(fullest) > HARDLY_ANY_BYTES):
            raise
        raise _disk_full(fullest) from error


def _is_for_want_of_room(error: BaseException, *, has_any: bool) -> bool:
    return any(_tells_of_it(one, has_any=has_any) for one in _all_of(error))


def _tells_of_it(error: BaseException, *, has_any: bool) -> bool:
    if isinstance(error, sqlite3.Error):
        return is_full(error) or (not has_any and is_outside_fault(error))
    return isinstance(error, OSError) and error.errno in _NO_ROOM


def _all_of(error: BaseException) -> Iterator[BaseException]:
    """It, what it came of, and what its group holds: what failed first may be told by what failed while closing."""
    seen: dict[int, BaseException] = {}
    waiting = [error]
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen[id(one)] = one
        yield one
        waiting += one.exceptions if isinstance(one, BaseExceptionGroup) else ()
        waiting += [other for other in (one.__cause__, one.__context__) if other is not None]


def _there(place: Path) -> Path:
    """`place`, or the nearest folder above it that is there."""
    return next(folder for folder in (place, *place.parents) if folder.exists())


def free_bytes(place: Path) -> int:
    """What the disk that `place` lies on, or will, has left for this user."""
    return shutil.disk_usage(_there(place)).free


def _disk_full(place: Path) -> DiskFull:
    there = _there(place).resolve()
    disk = next(folder for folder in (there, *there.parents) if os.path.ismount(folder))
    free_mib = free_bytes(place) / 2**20
    return DiskFull(
        f"The disk mounted at {disk}, which holds {place}, is full: {free_mib:.1f} MiB are free.",
        hint=f"Free some room there (du -xh {disk} | sort -h | tail shows what is large), or name a folder on another "
        "disk (STORAGE_ROOT, BACKUP_DIR, TMPDIR), then try again. What was acknowledged is kept.",
        data={"path": str(place), "disk": str(disk), "free_mib": round(free_mib, 1)},
    )

"""A disk without room for a start is told as that: which disk, and what to do."""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mcp_agent_mail.core.errors import Unavailable
from mcp_agent_mail.store.faults import StoreFailed, is_full

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)


class DiskFull(Unavailable):
    """There is no room on the disk that the store lies on."""


@contextmanager
def told_when_full(*places: Path) -> Iterator[None]:
    """Raises DiskFull. Of several `places` (the store's folder, its database) the one with the least room is meant."""
    try:
        yield
    except (OSError, sqlite3.Error, StoreFailed) as error:
        if not _is_for_want_of_room(error):
            raise
        raise _disk_full(min(places, key=_free_bytes)) from error


def _is_for_want_of_room(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, OSError) and error.errno in _NO_ROOM:
            return True
        if isinstance(error, sqlite3.Error) and is_full(error):
            return True
        error = error.__cause__
    return False


def _there(place: Path) -> Path:
    """`place`, or the nearest folder above it that is there."""
    return next(folder for folder in (place, *place.parents) if folder.exists())


def _free_bytes(place: Path) -> int:
    return shutil.disk_usage(_there(place)).free


def _disk_full(place: Path) -> DiskFull:
    there = _there(place).resolve()
    disk = next(folder for folder in (there, *there.parents) if os.path.ismount(folder))
    free_mib = _free_bytes(place) / 2**20
    return DiskFull(
        f"The disk mounted at {disk}, which holds {place}, is full: {free_mib:.1f} MiB are free.",
        hint=f"Free some room there (du -xh {disk} | sort -h | tail shows what is large), or set STORAGE_ROOT to a "
        "folder on another disk, then start again. What was acknowledged is kept.",
        data={"path": str(place), "disk": str(disk), "free_mib": round(free_mib, 1)},
    )

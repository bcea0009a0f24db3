"""Puts what was written on disk, so that it survives a loss of power: file by file, or a whole system at once."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

SYNCED_ONE_BY_ONE = 1_000
"""Of more files than this each would take its milliseconds: all that any process has written takes less."""

_PLAIN = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC


def sync_path(path: Path, *, follow: bool = True) -> None:
    """Put a file, or the names in a folder, on disk. Waits for no FIFO. Raises OSError, also where nothing is there,
    and for a link unless they are followed.
    """
    descriptor = os.open(path, _PLAIN if follow else _PLAIN | os.O_NOFOLLOW)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_tree(path: Path) -> None:
    """Put a file, or a folder with all below it, on disk. Links are not followed. Raises OSError for what cannot be
    read.
    """
    paths = list(islice(_all_below(path), SYNCED_ONE_BY_ONE + 1))
    if len(paths) > SYNCED_ONE_BY_ONE:
        os.sync()
        return
    for one in paths:
        _sync(one)


def _all_below(path: Path) -> Iterator[Path]:
    """What is in a folder before the folder."""
    if not stat.S_ISDIR(os.lstat(path).st_mode):
        yield path
        return
    for folder, _, names in os.walk(path, topdown=False, onerror=_raise):
        yield from (Path(folder) / name for name in names)
        yield Path(folder)


def _sync(path: Path) -> None:
    # A link is part of its folder; a FIFO has nothing.
    with suppress(FileNotFoundError):
        mode = os.lstat(path).st_mode
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            return
        sync_path(path, follow=False)


def _raise(error: OSError) -> None:
    raise error

"""A private folder for as long as a store is read; what a process that was killed has left of its own goes first."""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir

_PREFIX = "am-import-"
_BEGINNING_S = 60.0
"""A younger folder may not be locked yet by whoever has just made it."""
_MOST_NAMES = 20_000
"""Of a folder of temporary files that are looked at."""
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@contextmanager
def private_folder() -> Iterator[Path]:
    """Gone at the end. While it is used it is locked, which a kill ends: so others see whether its owner lives."""
    _remove_left(Path(gettempdir()))
    with TemporaryDirectory(prefix=_PREFIX) as folder:
        descriptor = os.open(folder, _FOLDER)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield Path(folder)
        finally:
            os.close(descriptor)


def _remove_left(temporary: Path) -> None:
    with suppress(OSError), os.scandir(temporary) as entries:
        for name in [one.name for one in islice(entries, _MOST_NAMES) if one.name.startswith(_PREFIX)]:
            with suppress(OSError):
                _remove_if_left(temporary / name)


def _remove_if_left(folder: Path) -> None:
    """Unless somebody uses it, or it is another user's, or no folder at all."""
    descriptor = os.open(folder, _FOLDER)
    try:
        seen = os.fstat(descriptor)
        is_own = seen.st_uid == os.geteuid() and stat.S_IMODE(seen.st_mode) & 0o077 == 0
        if not is_own or time.time() - seen.st_mtime < _BEGINNING_S:
            return
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder)
    finally:
        os.close(descriptor)

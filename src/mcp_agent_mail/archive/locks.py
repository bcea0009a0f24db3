"""One archiver at a time: a lock the kernel releases, held through every Git process that changes an archive.

`flock` belongs to the open file, not to the process. Git's children get that file too, so when an
archiver is killed in the middle of an import the next one waits until that import has ended.
(filelock's `FileLock` is the same call; its package alone would double the archiver's memory.)
"""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from mcp_agent_mail.core.errors import Unavailable

_POLL_S = 0.05


class ArchivesBusy(Unavailable):
    """Another process writes these archives and did not end in time."""


class ArchiveLock:
    """`with ArchiveLock(path, timeout_s=10) as lock`: waits that long for the holder, then raises ArchivesBusy."""

    def __init__(self, path: Path, *, timeout_s: float) -> None:
        self._path = path
        self._timeout_s = timeout_s
        self._fd = -1

    @property
    def fd(self) -> int:
        return self._fd

    def __enter__(self) -> Self:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        deadline = time.monotonic() + self._timeout_s
        while not self._try():
            if time.monotonic() >= deadline:
                os.close(self._fd)
                raise ArchivesBusy(
                    f"Another process holds {self._path}, the lock of the archives.",
                    hint="A server or an `am` command is writing them; `am status` says which server runs.",
                )
            time.sleep(_POLL_S)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._fd)

    def _try(self) -> bool:
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

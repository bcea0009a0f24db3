"""Locks the kernel releases: one of the archiver, and one of each archive, which its Git processes hold too.

`flock` belongs to the open file, not to the process. Git's children get that file too, so when an
archiver is killed in the middle of an import the next one waits, in that archive, until that import has ended.
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
    """Another process holds the lock and did not end in time."""


class ArchiveLock:
    """`with ArchiveLock(path, timeout_s=10) as lock`: waits that long for the holder, then raises ArchivesBusy.

    `archive`: whose lock it is; without one it is that of the archiver, who alone works on archives.
    """

    def __init__(self, path: Path, *, timeout_s: float, archive: str | None = None) -> None:
        self._path = path
        self._archive = archive
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
                raise self._refusal()
            time.sleep(_POLL_S)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._fd)

    def _refusal(self) -> ArchivesBusy:
        if self._archive is None:
            return ArchivesBusy(
                f"Another process holds {self._path}, the lock of the archiver.",
                hint="A server or an `am` command is writing archives; `am status` says which server runs.",
            )
        return ArchivesBusy(
            f"Another process holds {self._path}, the lock of the archive {self._archive} alone.",
            hint="A Git process of it that an archiver or an earlier try left is still at work, or hangs: "
            f"`fuser {self._path}` names it. Other archives go on.",
            data={"archive": self._archive},
        )

    def _try(self) -> bool:
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

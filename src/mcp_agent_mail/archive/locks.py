"""Locks the kernel releases: one of the archiver, and one of each archive, which its Git processes hold too.

`flock` belongs to the open file, not to the process. Git's children get that file too, so when an
archiver is killed in the middle of an import the next one waits, in that archive, until that import has ended.
(filelock's `FileLock` is the same call; its package alone would double the archiver's memory.)
"""

from __future__ import annotations

import fcntl
import logging
import os
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

from mcp_agent_mail.archive.lock_holders import end_orphans, holders, named
from mcp_agent_mail.core.errors import Unavailable
from mcp_agent_mail.core.plain_files import UnfitPlace, require_lock_place

logger = logging.getLogger("mcp_agent_mail.archiving")

_POLL_S = 0.05
TOLD_AFTER_S = 1.0
ORPHANS_END_WITHIN_S = 3.0
"""What a dead archiver left in an archive may take to come to its end; the commit it was at takes less than one."""


class ArchivesBusy(Unavailable):
    """Another process holds the lock and did not end in time."""


class ArchiveLock:
    """`with ArchiveLock(path, timeout_s=10) as lock`: waits that long for the holder, then raises ArchivesBusy;
    UnfitPlace at once for what is no file.

    `archive`: whose lock it is; without one it is that of the archiver, who alone works on archives. Git that a dead
    archiver left in an archive is ended. `tell` is called once, when waiting takes long or is given up, and before
    UnfitPlace.
    """

    def __init__(
        self,
        path: Path,
        *,
        timeout_s: float,
        archive: str | None = None,
        tell: Callable[[ArchivesBusy | UnfitPlace], None] | None = None,
    ) -> None:
        self._path = path
        self._archive = archive
        self._timeout_s = timeout_s
        self._tell = tell
        self._fd = -1

    @property
    def fd(self) -> int:
        return self._fd

    def __enter__(self) -> Self:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        try:
            require_lock_place(self._path, follow=True)
        except UnfitPlace as unfit:
            if self._tell is not None:
                self._tell(unfit)
            raise
        self._fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            self._wait()
        except BaseException:
            os.close(self._fd)
            raise
        return self

    def _wait(self) -> None:
        began = time.monotonic()
        orphans_until = began + ORPHANS_END_WITHIN_S
        while not self._try():
            now = time.monotonic()
            is_late = now - began >= self._timeout_s
            if self._tell is not None and (is_late or now - began >= TOLD_AFTER_S):
                self._tell(self._refusal())
                self._tell = None
            if is_late:
                raise self._refusal()
            if self._archive is not None and now >= orphans_until:
                self._end_orphans()
                orphans_until = now + ORPHANS_END_WITHIN_S
            time.sleep(_POLL_S)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._fd)

    def _end_orphans(self) -> None:
        if orphans := end_orphans(self._path):
            logger.warning(
                "%s, left in the archive %s by an archiver that is dead, was ended", named(orphans), self._archive
            )

    def _refusal(self) -> ArchivesBusy:
        found = holders(self._path)
        subject = named(found)
        who = f"{subject[0].upper()}{subject[1:]}"
        kill = (
            f"`kill -9 {' '.join(str(one.pid) for one in found)}`"
            if found
            else f"`fuser {self._path}` names it, and kill -9"
        )
        data = {"pids": [one.pid for one in found]}
        if self._archive is None:
            return ArchivesBusy(
                f"{who} holds {self._path}, the lock of the archiver.",
                hint="An archiver of an earlier server, or an `am` command, is writing archives; `am status` says "
                f"which server runs. If it hangs, {kill} ends it: what was committed stays, and the rest is done anew.",
                data=data,
            )
        return ArchivesBusy(
            f"{who} holds {self._path}, the lock of the archive {self._archive} alone.",
            hint="A Git process of it that an archiver or an earlier try left is still at work, or hangs: "
            f"{kill} ends it, unless its disk hangs. Other archives go on.",
            data={"archive": self._archive} | data,
        )

    def _try(self) -> bool:
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

"""Measures the store and its disk every few seconds, beside the requests, and says when the store may not grow."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from mcp_agent_mail.core.concurrency.looks import Looks
from mcp_agent_mail.core.concurrency.periodic_work import Periodic
from mcp_agent_mail.core.disk_space import free_bytes
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.store_limits import StoreLimits, StoreSize, find_shortage
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.engine.disk_usage import FolderSizes, bytes_on_disk
from mcp_agent_mail.store.engine.sqlite.database_files import database_files

logger = logging.getLogger("mcp_agent_mail.store_size")

INTERVAL_S = 5.0
LOOKS_AT_ONCE = 10_000
"""Files and folders in one pass: some 30 ms on a thread. A hundred thousand that all changed are through in a minute;
folders in which nothing changed count as one."""
FAR_OFF = 2
"""A store that is known to have so much more room than it takes is gone through at a fifth of that pace."""
_SLOWER = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreSizeFigures:
    """In bytes; None before the first look. `is_whole`: all files have been seen, so `used_bytes` is all."""

    used_bytes: int | None
    free_bytes: int | None
    is_whole: bool


class StoreSizeWorker:
    """`start()` on the running loop, `await stop()` while the store is open. What it finds goes to `store.growth`.

    The files of the database are looked at in each pass, pages in them that are free count as room; all else below
    `storage_root` is gone through bit by bit, on a thread that may hang with its disk.
    """

    def __init__(
        self,
        store: Store,
        limits: StoreLimits,
        storage_root: Path,
        *,
        looks_at_once: int = LOOKS_AT_ONCE,
        now_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self._store = store
        self._limits = limits
        self._root = storage_root
        self._looks_at_once = looks_at_once
        self._now_ns = now_ns
        self._database = database_files(store.path)
        self._folders = FolderSizes(storage_root, but=self._database)
        self._size: StoreSize | None = None
        self.looks = Looks(threads=1)
        self.keeper = Periodic("store-size", self.look, interval_s=INTERVAL_S)
        self.start = self.keeper.start

    def figures(self) -> StoreSizeFigures:
        """As of the last look, for health."""
        size = self._size
        return StoreSizeFigures(
            used_bytes=None if size is None else size.used,
            free_bytes=None if size is None else size.free,
            is_whole=self._folders.is_whole,
        )

    async def look(self) -> None:
        """One pass, bounded; the next goes on where it ended. Raises OSError, and DirectorySilent for a disk that
        hangs: what was known of the store's size stands meanwhile.
        """
        unused = await self._store.read(lambda view: view.meta.unused_bytes())
        measured = await self.looks.look(str(self._root), partial(self._measure, self._now_ns()))
        size = StoreSize(used=max(0, measured.used - unused), free=measured.free)
        before = self._store.growth.shortage
        shortage = find_shortage(self._limits, size, before)
        self._size = size
        self._store.growth.note(shortage, self._limits, size)
        if shortage is not before:
            if shortage is None:
                logger.info("the store may grow again")
            else:
                logger.warning("the store may not grow", extra={"facts": {"why": self._store.growth.problem}})

    async def stop(self, within_s: float) -> None:
        """A look that hangs is not waited for."""
        self.looks.close()
        await self.keeper.stop(within_s)

    def _measure(self, now_ns: int) -> StoreSize:
        is_far_off = self._folders.is_whole and self._folders.bytes * FAR_OFF < self._limits.max_used
        self._folders.step(self._looks_at_once // _SLOWER if is_far_off else self._looks_at_once, now_ns)
        used = self._folders.bytes + sum(map(bytes_on_disk, self._database))
        return StoreSize(used=used, free=min(map(free_bytes, (self._root, self._store.path))))

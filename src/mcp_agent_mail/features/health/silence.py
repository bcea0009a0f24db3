"""Gives back, once the server has nothing to do any more, what memory the load before has left in caches.

Two thirds of what a minute of mixed load left behind were pages of the database, kept by the writer for the next send.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from mcp_agent_mail.core.concurrency.freed_pages import give_back_freed
from mcp_agent_mail.core.concurrency.periodic_work import Periodic
from mcp_agent_mail.store.database import Store

INTERVAL_S = 15.0
QUIET_PASSES = 2
"""So many one after the other in which the process did hardly anything come before it: half a minute."""
HARDLY_ANY = 0.02
"""Of a core: what workers and those who wait cost is below it, and so is a call a second."""


class SilenceWorker:
    """`keeper.start()` on the running loop, `await keeper.stop()` while the store is still open.

    `cpu_s` is what the process has used of processors so far.
    """

    def __init__(
        self,
        store: Store,
        *,
        interval_s: float = INTERVAL_S,
        cpu_s: Callable[[], float] = time.process_time,
        give_back: Callable[[], None] = give_back_freed,
    ) -> None:
        self._store = store
        self._busy_s = HARDLY_ANY * interval_s
        self._cpu_s = cpu_s
        self._give_back = give_back
        self._used_s = cpu_s()
        self._quiet_passes: int | None = 0
        """Since the start, or since there was something to do; None once memory has been given back since."""
        self.keeper = Periodic("silence", self.look, interval_s=interval_s)
        self.start = self.keeper.start
        self.stop = self.keeper.stop

    async def look(self) -> None:
        """One pass. Raises what a sick store raises; the next pass tries again."""
        used_s = self._cpu_s()
        is_busy = used_s - self._used_s > self._busy_s
        self._used_s = used_s
        if is_busy:
            self._quiet_passes = 0
        elif self._quiet_passes is not None:
            self._quiet_passes += 1
        if self._quiet_passes is not None and self._quiet_passes >= QUIET_PASSES:
            try:
                await self._store.let_go_of_pages()
            finally:
                await asyncio.to_thread(self._give_back)
                self._used_s = self._cpu_s()
            self._quiet_passes = None

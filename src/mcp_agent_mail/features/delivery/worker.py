"""What feeds need beside the requests: events that are too old go, with what hooks told in that time, and mail expires
though nobody asks.
"""

from __future__ import annotations

import asyncio

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.concurrency.keeper import STOP_WITHIN_S, Keeper
from mcp_agent_mail.core.concurrency.periodic_work import Periodic
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.transaction import Tx

HOUR_S = 3_600
DAY = Micros(24 * HOUR_S * SECOND)
EXPIRY_EVERY_S = 1.0
"""A comparison where nothing is due: so those who wait learn of an end that no read or write has met."""
FORGOTTEN_AT_ONCE = 1_000
"""Events of one unit of work: a few milliseconds, between those of others."""


class FeedWorker:
    """`start()` on the running loop, `await stop()` while the store is still open."""

    def __init__(self, store: Store, *, keep_days: int) -> None:
        self._store = store
        self._keep = Micros(keep_days * DAY)
        self._upkeep = Periodic("feed-upkeep", self.keep_up, interval_s=HOUR_S)
        self._expiry = Periodic("mail-expiry", self.end_expired, interval_s=EXPIRY_EVERY_S)

    def start(self) -> None:
        for keeper in self.keepers():
            keeper.start()

    async def stop(self, within_s: float = STOP_WITHIN_S) -> None:
        await asyncio.gather(*(keeper.stop(within_s) for keeper in self.keepers()))

    def keepers(self) -> list[Keeper]:
        return [self._upkeep, self._expiry]

    async def end_expired(self) -> None:
        """Write down all ends that have come, some in each unit of work. Raises what a sick store raises."""
        while await self._store.end_expired() and not self._expiry.is_stopping:
            pass

    async def keep_up(self) -> None:
        """Note how far the feeds are, and drop what is older than is kept: to the hour, since that is what is noted."""
        await self._store.write(lambda tx: tx.feed.mark(tx.now, Micros(HOUR_S * SECOND)))
        # Before the feed: it forgets by which number it went.
        while not self._upkeep.is_stopping and await self._store.write(self._forget_announcements):
            pass
        while not self._upkeep.is_stopping:
            has_more = await self._store.write(
                lambda tx: tx.feed.forget(Micros(tx.now - self._keep), tx.now, FORGOTTEN_AT_ONCE)
            )
            if not has_more:
                return

    def _forget_announcements(self, tx: Tx) -> bool:
        last = tx.feed.last_before(Micros(tx.now - self._keep), tx.now)
        return last is not None and tx.announcements.forget(last, FORGOTTEN_AT_ONCE)

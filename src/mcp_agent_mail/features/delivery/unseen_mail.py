"""Mail that nobody sees: its sender's feed tells so, once for each copy. No mail is written for it, and no model woken.

One unit of work looks at some copies that have become due, tells, and moves the mark: after a kill the next start goes
on exactly there. Times are the store's own.
"""

from __future__ import annotations

from dataclasses import dataclass

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.concurrency.periodic_work import Periodic
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.transaction import Tx

COPIES_AT_ONCE = 500
UNITS_PER_PASS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class UnseenRules:
    """How long after its delivery a copy counts as unseen, and how often such copies are looked for."""

    ttl_s: int
    interval_s: int


class UnseenWorker:
    """`start()` on the running loop, `await stop()` while the store is still open."""

    def __init__(self, store: Store, rules: UnseenRules) -> None:
        self._store = store
        self._rules = rules
        self.keeper = Periodic("unseen-mail", self.look, interval_s=rules.interval_s)
        self.start = self.keeper.start
        self.stop = self.keeper.stop

    async def look(self) -> None:
        """One pass, bounded; the next goes on where it ended. Raises what a sick store raises."""
        for _ in range(UNITS_PER_PASS):
            more = await self._store.write(lambda tx: tell_unseen(tx, self._rules))
            if not more or self.keeper.is_stopping:
                break


def tell_unseen(tx: Tx, rules: UnseenRules) -> bool:
    """Tell of the next few copies; whether there may be more."""
    return tx.feed.tell_unseen(Micros(tx.now - rules.ttl_s * SECOND), tx.now, COPIES_AT_ONCE)

"""Mail that nobody sees: its sender's feed tells so, once for each copy. No mail is written for it, and no model woken.

One unit of work looks at some copies that have become due, tells, and moves the mark: after a kill the next start goes
on exactly there. Times are the store's own; but one that a clock showed which was ahead says nothing once it is right
again. So what was delivered so long ago by the process's own count of seconds is due whatever its time says.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.concurrency.periodic_work import Periodic
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.transaction import Tx

COPIES_AT_ONCE = 500
UNITS_PER_PASS = 200
_DAY_S = 86_400
_TAILS = 100
"""So many looks of the last `ttl_s` seconds are remembered, of those that found more: by a part of that time the
process's own seconds may tell later.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnseenRules:
    """How long after its delivery a copy counts as unseen, and how often such copies are looked for."""

    ttl_s: int
    interval_s: int


class UnseenWorker:
    """`start()` on the running loop, `await stop()` while the store is still open."""

    def __init__(self, store: Store, rules: UnseenRules, *, elapsed: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._rules = rules
        self._elapsed = elapsed
        self._tails: deque[tuple[float, int]] = deque()
        """How far deliveries were at some looks of the last `ttl_s` seconds, and at the one before those."""
        self.keeper = Periodic("unseen-mail", self.look, interval_s=rules.interval_s)
        self.start = self.keeper.start
        self.stop = self.keeper.stop

    async def look(self) -> None:
        """One pass, bounded; the next goes on where it ended. Raises what a sick store raises."""
        aged = self._aged(await self._store.read(lambda view: view.feed.ends().tail))
        for _ in range(UNITS_PER_PASS):
            more = await self._store.write(lambda tx: tell_unseen(tx, self._rules, aged))
            if not more or self.keeper.is_stopping:
                break

    def _aged(self, tail: int) -> int:
        """Up to which number everything was delivered `ttl_s` ago or longer, as this process has seen it; 0 where it
        has not run for so long.
        """
        now = self._elapsed()
        if not self._tails or (self._tails[-1][1] < tail and self._tails[-1][0] + self._rules.ttl_s / _TAILS <= now):
            self._tails.append((now, tail))
        while len(self._tails) > 1 and self._tails[1][0] + self._rules.ttl_s <= now:
            self._tails.popleft()
        since, aged = self._tails[0]
        return aged if since + self._rules.ttl_s <= now else 0


def tell_unseen(tx: Tx, rules: UnseenRules, aged: int) -> bool:
    """Tell of the next few copies; whether there may be more. Those numbered up to `aged` are due whatever their
    times. After a rebuild those are passed over that were due, and told of, a day before the newest of its archives.
    """
    tx.feed.pass_over_told(Micros((_DAY_S + rules.ttl_s + rules.interval_s) * SECOND))
    return tx.feed.tell_unseen(Micros(tx.now - rules.ttl_s * SECOND), tx.now, COPIES_AT_ONCE, aged=aged)

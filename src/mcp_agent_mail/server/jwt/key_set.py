"""The issuer's keys, kept: read beside the requests, and served on while the issuer is away.

One keeper reads them at the start, every ten minutes, and when a token names a key that nobody knows, which may be once
a minute. A request waits for that, or for the first keys of all, five seconds at most; all who wait share one look. In
the rest of the minute a token with such a key is told to come again: it may be good. (docs/adr/0173)
"""

from __future__ import annotations

import asyncio
import math
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from contextlib import suppress

from mcp_agent_mail.core.clock import SECOND, Clock, Micros
from mcp_agent_mail.core.concurrency.keeper import STOP_WITHIN_S, Keeper
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.server.jwt.key_document import KeysUnread
from mcp_agent_mail.server.jwt.proofs import IssuerAway, KeyUnknown
from mcp_agent_mail.server.jwt.signatures import VerifyingKeys

KEPT_S = 600
"""Older keys are read anew, beside the requests that they still serve."""
SERVED_S = 24 * 3_600
"""While the issuer is away. Then keys that it may have taken back long ago count no more."""
ASKED_EVERY_S = 60
"""Anybody can make up the name of a key: so often one that is not known makes us ask the issuer."""
TRIED_EVERY_S = 60
"""After a look that failed, while there are keys to serve."""
FIRST_TRIED_EVERY_S = 5
"""Likewise while there are none."""
WAIT_S = 5.0
MOST_SOUGHT = 1_000
"""Tokens of which it is known since when their keys have been sought. One that is forgotten is told to come again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyFigures:
    """`keys` is how many can be used now; `read_ts` is None before the first were read."""

    keys: int
    read_ts: Micros | None
    error: str | None


class KeySet:
    """`start()` on the running loop, `await stop()` at its end, which calls `close`. `read` is one look at the issuer
    and raises KeysUnread.
    """

    def __init__(
        self,
        read: Callable[[], Awaitable[VerifyingKeys]],
        *,
        clock: Clock,
        close: Callable[[], None] = lambda: None,
        wait_s: float = WAIT_S,
    ) -> None:
        self._read = read
        self._close = close
        self._clock = clock
        self._wait_s = wait_s
        self.keeper = Keeper("jwt-keys", self._keep_on, clock=clock)
        self._wanted = asyncio.Event()
        self._wanted.set()
        self._looked: asyncio.Event = asyncio.Event()
        """Of the look that is under way, or comes next: each has its own."""
        self._is_looking = False
        self._keys: VerifyingKeys | None = None
        self._read_ts = Micros(0)
        self._failed_ts: Micros | None = None
        self._asked_ts: Micros | None = None
        self._looks = 0
        """How many have begun."""
        self._read_in = 0
        """Which of them the keys were read in last."""
        self._sought: OrderedDict[bytes, int] = OrderedDict()
        """How many looks had begun when each token came first."""

    def start(self) -> None:
        self.keeper.start()

    async def stop(self, within_s: float = STOP_WITHIN_S) -> None:
        """A look that is under way is given up. Whoever waits goes on with what there is."""
        self.keeper.stopping.set()
        self._wanted.set()
        self._close()
        await self.keeper.stop(within_s)
        self._looked.set()

    def figures(self) -> KeyFigures:
        """How the keys fare at this moment, for health and the metrics."""
        keys = self.served()
        return KeyFigures(
            keys=0 if keys is None else len(keys.keys),
            read_ts=None if self._keys is None else self._read_ts,
            error=self.keeper.error,
        )

    async def current(self) -> VerifyingKeys:
        """The keys that count now. Waits only where there are none. Raises IssuerAway."""
        keys = self.served()
        if keys is not None:
            if self._age_s() >= KEPT_S:
                self._want()
            return keys
        await self._next_look(lambda: self.served() is None and (self._is_look_coming() or self._want()))
        if (keys := self.served()) is None:
            raise IssuerAway(retry_after_s=_whole(self._again_s()))
        return keys

    async def newer_than(self, seen: VerifyingKeys, token: bytes) -> VerifyingKeys | None:
        """Other keys than `seen`, in which the key of `token` (its digest) was not found: those that were read
        meanwhile, or are read for it. None where the issuer was asked since the token came, and has no others. Raises
        KeyUnknown where it was not, or is away.
        """
        came = self._came(token)
        await self._next_look(lambda: self._keys is seen and (self._is_look_coming() or self._ask()))
        if self._keys is not seen and (keys := self.served()) is not None:
            return keys
        if self._is_look_coming():
            raise KeyUnknown(retry_after_s=1)
        if self._failed_ts is not None:
            raise KeyUnknown(retry_after_s=_whole(self._again_s()))
        if self._read_in <= came:
            raise KeyUnknown(retry_after_s=_whole(self._unasked_s()))
        return None

    def _came(self, token: bytes) -> int:
        """How many looks had begun when it came first, as far as that is remembered: a name of a key could be used up
        by whoever guesses it, a token that is signed cannot.
        """
        came = self._sought.setdefault(token, self._looks)
        while len(self._sought) > MOST_SOUGHT:
            self._sought.popitem(last=False)
        return came

    def served(self) -> VerifyingKeys | None:
        """The keys that count at this moment, without waiting for any."""
        return self._keys if self._keys is not None and self._age_s() < SERVED_S else None

    def _age_s(self) -> float:
        """Since the keys were asked for. Where the clock was set back, since then."""
        now = self._clock()
        self._read_ts = min(self._read_ts, now)
        return (now - self._read_ts) / SECOND

    def _ask(self) -> bool:
        """Let the keeper look for a key that nobody knows, unless it did a moment ago; whether it will."""
        if self._unasked_s() > 0:
            return False
        self._asked_ts = self._clock()
        self._wanted.set()
        return True

    def _unasked_s(self) -> float:
        """Until the keeper may be asked again to look for a key that nobody knows."""
        return self._rest_s(self._asked_ts, ASKED_EVERY_S)

    def _is_look_coming(self) -> bool:
        return self._is_looking or self._wanted.is_set()

    def _want(self) -> bool:
        """Let the keeper look, unless it does, or has failed a moment ago; whether a look comes."""
        if self._again_s() > 0:
            return False
        if not self._is_looking:
            self._wanted.set()
        return True

    def _again_s(self) -> float:
        """Until a look that failed may be tried again; 0 where none has."""
        return self._rest_s(self._failed_ts, FIRST_TRIED_EVERY_S if self.served() is None else TRIED_EVERY_S)

    def _rest_s(self, since_ts: Micros | None, every_s: int) -> float:
        """Of a pause; 0 where the clock was set back before it."""
        if since_ts is None:
            return 0.0
        passed_s = (self._clock() - since_ts) / SECOND
        return every_s - passed_s if 0 <= passed_s < every_s else 0.0

    async def _next_look(self, is_wanted: Callable[[], bool]) -> None:
        """Wait for the end of the look that is under way, else of the one that comes next; and then for one more where
        it is still wanted, since what was under way may have begun before a key was published.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(self._wait_s):
                for _ in range(2):
                    if not is_wanted():
                        return
                    await self._looked.wait()

    async def _keep_on(self) -> None:
        while not self.keeper.is_stopping:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._wanted.wait(), self._due_s())
            self._wanted.clear()
            if not self.keeper.is_stopping:
                await self._look()

    def _due_s(self) -> float:
        if self._failed_ts is not None:
            return max(1.0, self._again_s())
        return max(0.0, KEPT_S - self._age_s())

    async def _look(self) -> None:
        began_ts = self._clock()
        self._is_looking = True
        self._looks += 1
        try:
            keys = await self._read()
        except KeysUnread as unread:
            self._failed_ts = self._clock()
            if not self.keeper.is_stopping:
                self.keeper.failed(unread)
        else:
            self._take(keys, began_ts)
            self.keeper.worked()
        finally:
            self._is_looking = False
            looked, self._looked = self._looked, asyncio.Event()
            looked.set()

    def _take(self, keys: VerifyingKeys, began_ts: Micros) -> None:
        """The same keys stay the same object: what was proven with them stays so."""
        if keys != self._keys:
            self._keys = keys
        self._read_ts, self._failed_ts = began_ts, None
        self._read_in = self._looks


def _whole(seconds: float) -> int:
    """Who waits so long has waited long enough."""
    return max(1, math.ceil(seconds))

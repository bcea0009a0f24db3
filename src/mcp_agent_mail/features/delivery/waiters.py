"""Who waits for mail in this process: calls that wait and streams that are open, each with one place.

All of it lives on the event loop and in memory, and hangs on the bus of mail alone: no thread, no poll, and one future
for each who waits. Nothing is lost with it: whoever waits looks at the store itself, and asks with a cursor.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum

from mcp_agent_mail.core.errors import Busy, Unavailable
from mcp_agent_mail.core.ids import AgentId
from mcp_agent_mail.domain.presence import ListeningVia
from mcp_agent_mail.features.health.results import WaitingFigures
from mcp_agent_mail.notify.bus import MailBus

PLACES_EACH = 64
"""Of one agent, waits and streams together."""
_RETRY_AFTER_S = 5


class NoPlaceToWait(Busy):
    """As many wait as may, of one agent or of all."""


class WaitingEnds(Unavailable):
    """The server stops; nobody waits any more."""


class WaiterLeft(Unavailable):
    """The caller hung up. Its call ends with this, which nobody is there to read."""


class WaiterKind(StrEnum):
    WAIT = "wait"
    STREAM = "stream"


class MailWaiter:
    """One place, of an agent or of nobody. Who waits says `begin_look()`, looks at the store, and awaits `woken()`:
    what changes after the look began is not missed.
    """

    __slots__ = ("_changed", "_loop", "_release", "_woken", "agent_id", "has_left", "kind")

    def __init__(self, agent_id: AgentId | None, kind: WaiterKind, release: Callable[[MailWaiter], None]) -> None:
        self.agent_id = agent_id
        self.kind = kind
        self.has_left = False
        self._release = release
        self._loop = asyncio.get_running_loop()
        self._changed = False
        self._woken: asyncio.Future[None] | None = None

    def begin_look(self) -> None:
        """Whatever changed before is about to be seen."""
        self._changed = False

    @property
    def is_changed(self) -> bool:
        """Whether `wake` has come since the look began."""
        return self._changed

    def wake(self) -> None:
        """There may be something new to see. A repeat does nothing more."""
        self._changed = True
        self._resolve()

    def leave(self) -> None:
        """The caller is gone: its place is free from now on, and whoever waits in it learns that."""
        self.has_left = True
        self._release(self)
        self.wake()

    async def woken(self, seconds: float) -> None:
        """Until `wake`, which may have come since the look began, or for so many seconds."""
        if self._changed or seconds <= 0:
            return
        self._woken = self._loop.create_future()
        timer = self._loop.call_later(seconds, self._resolve)
        try:
            await self._woken
        finally:
            timer.cancel()
            self._woken = None

    def _resolve(self) -> None:
        if self._woken is not None and not self._woken.done():
            self._woken.set_result(None)


class Waiters:
    """`settle` returns when every commit that was begun before has been told, or can be read. Nothing is asked of the
    bus, and nobody who writes pays, before the first one waits.
    """

    def __init__(self, bus: MailBus, settle: Callable[[], Awaitable[None]], *, limit: int) -> None:
        self._bus = bus
        self._settle = settle
        self._limit = limit
        self._waiters: dict[AgentId | None, dict[MailWaiter, None]] = {}
        self._followed: Counter[AgentId] = Counter()
        """Streams that are of no agent alone, by those whose inboxes they tell of."""
        self._counts = dict.fromkeys(WaiterKind, 0)
        self._is_subscribed = False
        self._hears_all = False
        self._is_closed = False

    def bound(self, at_most: int) -> None:
        """Each place keeps a connection: there are no more than `at_most`, whatever the limit."""
        self._limit = min(self._limit, at_most)

    async def hear(self) -> None:
        """Hear of every commit from now on, where the store can be written: else what is committed of what had begun
        before is seen by the looks that who waits takes without being woken.
        """
        if not self._is_subscribed:
            self._is_subscribed = True
            self._bus.subscribe(self._tell)
        if not self._hears_all:
            # A commit that had begun before the first subscription is told to nobody.
            try:
                await self._settle()
            except Unavailable:
                return  # Asked again by the next who waits. Reading goes on, and so does waiting.
            self._hears_all = True

    @contextmanager
    def place(self, agent_id: AgentId, kind: WaiterKind) -> Iterator[MailWaiter]:
        """A place for the time of the block. Raises NoPlaceToWait and WaitingEnds."""
        waiter = MailWaiter(agent_id, kind, self.free)
        self._seat(waiter)
        try:
            yield waiter
        finally:
            self.free(waiter)

    def unseated_stream(self) -> MailWaiter:
        """Of a stream that may tell of several agents' mail, or of nobody's: it has no place before `seat`, and is then
        of no agent.
        """
        return MailWaiter(None, WaiterKind.STREAM, self.free)

    def seat(self, stream: MailWaiter) -> None:
        """Give the stream a place until `free`. A repeat does nothing more. Raises NoPlaceToWait and WaitingEnds."""
        if stream not in self._waiters.get(stream.agent_id, ()):
            self._seat(stream)

    def follow(self, agent_id: AgentId) -> None:
        """A stream with a place tells of this agent's inbox to the agent itself, until `unfollow`. Raises NoPlaceToWait
        for more than PLACES_EACH, waits included.
        """
        self._require_places_of(agent_id)
        self._followed[agent_id] += 1

    def unfollow(self, agent_id: AgentId) -> None:
        self._followed[agent_id] -= 1
        if not self._followed[agent_id]:
            del self._followed[agent_id]

    def _seat(self, waiter: MailWaiter) -> None:
        self.require_open()
        if waiter.agent_id is not None:
            self._require_places_of(waiter.agent_id)
        self._require_room()
        self._waiters.setdefault(waiter.agent_id, {})[waiter] = None
        self._counts[waiter.kind] += 1

    def via_of(self, agent_id: AgentId) -> ListeningVia | None:
        """How mail would reach the agent just now: by a wait before a stream. May be asked from any thread."""
        # In one step of the interpreter: on the event loop others come and go meanwhile.
        kinds = {waiter.kind for waiter in tuple(self._waiters.get(agent_id, ()))}
        if WaiterKind.WAIT in kinds:
            return ListeningVia.WAIT
        return ListeningVia.STREAM if kinds or agent_id in self._followed else None

    def figures(self) -> WaitingFigures:
        """How many wait at this moment, for health and the metrics."""
        return WaitingFigures(
            waits=self._counts[WaiterKind.WAIT], streams=self._counts[WaiterKind.STREAM], limit=self._limit
        )

    @property
    def is_closed(self) -> bool:
        return self._is_closed

    def close(self) -> None:
        """Everybody who waits is woken, and told that the server stops. A repeat does nothing more."""
        self._is_closed = True
        for waiters in self._waiters.values():
            for waiter in waiters:
                waiter.wake()

    def require_open(self) -> None:
        """Raise WaitingEnds once the server stops."""
        if self._is_closed:
            raise WaitingEnds(
                "The server is stopping.",
                hint="Call again when it is back: a cursor is good for longer than the server runs.",
                data={"retry_after_s": _RETRY_AFTER_S},
            )

    def _require_places_of(self, agent_id: AgentId) -> None:
        if len(self._waiters.get(agent_id, ())) + self._followed[agent_id] >= PLACES_EACH:
            raise NoPlaceToWait(
                f"{PLACES_EACH} waits and streams of this agent are open already.",
                retry_after_s=_RETRY_AFTER_S,
                first="End some of them, or read with fetch_inbox.",
                data={"waiting": PLACES_EACH, "limit": PLACES_EACH},
            )

    def _require_room(self) -> None:
        waiting = sum(self._counts.values())
        if waiting >= self._limit:
            raise NoPlaceToWait(
                f"{waiting} waits and streams are open already.",
                retry_after_s=_RETRY_AFTER_S,
                first="Read with fetch_inbox.",
                data={"waiting": waiting, "limit": self._limit},
            )

    def free(self, waiter: MailWaiter) -> None:
        """Its place is another's. A repeat does nothing more."""
        waiters = self._waiters.get(waiter.agent_id, {})
        if waiter not in waiters:
            return
        del waiters[waiter]
        self._counts[waiter.kind] -= 1
        if not waiters:
            del self._waiters[waiter.agent_id]

    def _tell(self, agents: frozenset[AgentId]) -> None:
        """By the smaller of the two: a commit may change thousands of agents, and few of them wait."""
        for agent_id in agents if len(agents) <= len(self._waiters) else list(self._waiters):
            if agent_id in agents:
                for waiter in self._waiters.get(agent_id, ()):
                    waiter.wake()

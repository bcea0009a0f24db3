"""Who waits for mail in this process: calls that wait and streams that are open, each with one place.

All of it lives on the event loop and in memory, and hangs on the buses of mail and of rights alone: no thread, no poll
of its own, and one future for each who waits. Nothing is lost with it: whoever waits looks at the store itself, and
asks with a cursor.
"""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import TypeVar

from mcp_agent_mail.core.concurrency.token_end import TokenEnded, token_ended
from mcp_agent_mail.core.concurrency.work_place import give_up_place
from mcp_agent_mail.core.errors import Busy, Unavailable
from mcp_agent_mail.core.ids import AgentId
from mcp_agent_mail.domain.presence import ListeningVia
from mcp_agent_mail.features.delivery.last_look import FoundLook
from mcp_agent_mail.features.health.results import WaitingFigures
from mcp_agent_mail.notify.bus import MailBus, RightsBus

PLACES_EACH = 64
"""Of one agent, waits and streams together: those that it is proven to have. At its word it may have as many."""
RESERVED_PART = 8
"""One of so many places is for who is proven alone: who proves nothing is one caller, however many agents it names."""
_RETRY_AFTER_S = 5

Key = TypeVar("Key")


class NoPlaceToWait(Busy):
    """As many wait as may, of one agent or of all."""


class WaitingEnds(Unavailable):
    """The server stops; nobody waits any more."""


class WaiterLeft(Unavailable):
    """The caller hung up. Its call ends with this, which nobody is there to read."""


def why_left() -> WaiterLeft | TokenEnded:
    """With what the running call ends whose waiter has left: whoever lost its token by that may be there still."""
    return token_ended() or WaiterLeft("The caller has left.")


class WaiterKind(StrEnum):
    WAIT = "wait"
    STREAM = "stream"


class MailWaiter:
    """One place, of an agent or of nobody. Who waits says `begin_look()`, looks at the store, and awaits `woken()`:
    what changes after the look began is not missed.
    """

    __slots__ = (
        "_changed",
        "_doubted",
        "_loop",
        "_release",
        "_woken",
        "agent_id",
        "has_left",
        "holder",
        "is_proven",
        "kind",
        "last_look",
        "quiet_to",
    )

    def __init__(
        self,
        agent_id: AgentId | None,
        kind: WaiterKind,
        release: Callable[[MailWaiter], None],
        *,
        holder: AgentId | None,
        is_proven: bool,
    ) -> None:
        self.agent_id = agent_id
        self.kind = kind
        self.holder = holder
        """The agent that the place counts for: proven to have it, or by whose name somebody has it."""
        self.is_proven = is_proven
        self.has_left = False
        self.last_look: FoundLook | None = None
        """What its last look found. None: who looks for all cannot tell whether the next would find the same."""
        self.quiet_to = 0
        """How far who looks for all has found nothing that is newer."""
        self._doubted = False
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

    def doubt(self) -> None:
        """Wake, and have it asked whether who waits still may."""
        self._doubted = True
        self.wake()

    def take_doubt(self) -> bool:
        """Whether `doubt` has come since this was asked."""
        doubted, self._doubted = self._doubted, False
        return doubted

    def leave(self) -> None:
        """The caller is gone: its place is free from now on, and whoever waits in it learns that."""
        self.has_left = True
        self._release(self)
        self.wake()

    async def woken(self, seconds: float) -> None:
        """Until `wake`, which may have come since the look began, or for so many seconds, `inf` for ever."""
        if self._changed or seconds <= 0:
            return
        self._woken = self._loop.create_future()
        timer = None if seconds == math.inf else self._loop.call_later(seconds, self._resolve)
        try:
            await self._woken
        finally:
            self._woken = None
            if timer is not None:
                timer.cancel()

    def _resolve(self) -> None:
        if self._woken is not None and not self._woken.done():
            self._woken.set_result(None)


class Waiters:
    """`settle` returns when every commit that was begun before has been told, or can be read. Nothing is asked of the
    bus, and nobody who writes pays, before the first one waits.
    """

    def __init__(self, bus: MailBus, rights: RightsBus, settle: Callable[[], Awaitable[None]], *, limit: int) -> None:
        self._bus = bus
        self._rights = rights
        self._settle = settle
        self._limit = limit
        self._waiters: dict[AgentId | None, dict[MailWaiter, None]] = {}
        self._followed: dict[AgentId, dict[MailWaiter, None]] = {}
        """Streams that are of no agent alone, by those whose inboxes they tell of."""
        self._hung: dict[AgentId, dict[MailWaiter, None]] = {}
        """Likewise, by who is proven to read them, whether they have a place or not."""
        self._held: Counter[tuple[AgentId, bool]] = Counter()
        """Of each agent, apart: who only names it must not take what it needs itself."""
        self._unproven = 0
        self._counts = dict.fromkeys(WaiterKind, 0)
        self._is_subscribed = False
        self._hears_all = False
        self._is_closed = False

    def bound(self, at_most: int) -> None:
        """Each place keeps a connection: there are no more than `at_most`, whatever the limit."""
        self._limit = min(self._limit, at_most)

    def begin_hearing(self) -> None:
        """Hear of every commit that begins from now on, and wait for none that is under way."""
        if not self._is_subscribed:
            self._is_subscribed = True
            self._bus.subscribe(self._tell)
            self._rights.subscribe(self._tell_rights)

    async def hear(self) -> None:
        """Hear of every commit from now on, where the store can be written: else what is committed of what had begun
        before is seen by the looks that who waits takes without being woken.
        """
        self.begin_hearing()
        if not self._hears_all:
            # A commit that had begun before the first subscription is told to nobody.
            try:
                await self._settle()
            except Unavailable:
                return  # Asked again by the next who waits. Reading goes on, and so does waiting.
            self._hears_all = True

    @contextmanager
    def place(
        self, agent_id: AgentId | None, kind: WaiterKind, *, is_proven: bool = False, is_agents: bool = True
    ) -> Iterator[MailWaiter]:
        """A place for the time of the block; `is_proven`: who has it is known. Without `is_agents` it is one
        among those of all, but not of the agent: who looks at another's mail neither listens for it nor takes its
        places. Raises NoPlaceToWait and WaitingEnds.
        """
        waiter = MailWaiter(agent_id, kind, self.free, holder=agent_id if is_agents else None, is_proven=is_proven)
        self._seat(waiter)
        give_up_place()
        try:
            yield waiter
        finally:
            self.free(waiter)

    def unseated_stream(self, holder: AgentId | None = None) -> MailWaiter:
        """Of a stream that may tell of several agents' mail, or of nobody's: it has no place before `seat`, and is then
        counted for `holder`, the agent that is proven to read it.
        """
        return MailWaiter(None, WaiterKind.STREAM, self.free, holder=holder, is_proven=holder is not None)

    def hang(self, stream: MailWaiter) -> None:
        """Doubt the stream now, and whenever the rights of its holder change, until `unhang`: it is open, with a place
        or without. What had changed since its holder was found is asked so, too.
        """
        if stream.holder is not None:
            self._hung.setdefault(stream.holder, {})[stream] = None
            stream.doubt()

    def unhang(self, stream: MailWaiter) -> None:
        """A repeat does nothing more."""
        if stream.holder is not None and stream in self._hung.get(stream.holder, ()):
            _drop(self._hung, stream.holder, stream)

    def seat(self, stream: MailWaiter) -> None:
        """Give the stream a place until `free`; who has one of its holder's is asked once whether it still may.
        A repeat does nothing more. Raises NoPlaceToWait and WaitingEnds.
        """
        if stream not in self._waiters.get(stream.agent_id, ()):
            self._seat(stream)
            if stream.holder is not None:
                stream.doubt()

    def follow(self, stream: MailWaiter, agent_id: AgentId) -> None:
        """The stream tells of this agent's inbox to the agent itself, until `unfollow`. Raises NoPlaceToWait where it
        is so at the agent's word, for more than PLACES_EACH. Who is proven has a place for it already.
        """
        if stream.holder != agent_id:
            self._require_places_of(agent_id, is_proven=False)
            self._held[agent_id, False] += 1
        self._followed.setdefault(agent_id, {})[stream] = None

    def unfollow(self, stream: MailWaiter, agent_id: AgentId) -> None:
        """Of an agent that it follows, once."""
        if stream.holder != agent_id:
            _lessen(self._held, (agent_id, False))
        _drop(self._followed, agent_id, stream)

    def _seat(self, waiter: MailWaiter) -> None:
        self.require_open()
        if waiter.holder is not None:
            self._require_places_of(waiter.holder, is_proven=waiter.is_proven)
        self._require_room(is_proven=waiter.is_proven)
        self._waiters.setdefault(waiter.agent_id, {})[waiter] = None
        self._counts[waiter.kind] += 1
        self._unproven += not waiter.is_proven
        if waiter.holder is not None:
            self._held[waiter.holder, waiter.is_proven] += 1

    def via_of(self, agent_id: AgentId) -> ListeningVia | None:
        """How mail would reach the agent just now: by a wait before a stream. May be asked from any thread."""
        # In one step of the interpreter: on the event loop others come and go meanwhile.
        kinds = {waiter.kind for waiter in tuple(self._waiters.get(agent_id, ())) if waiter.holder == agent_id}
        if WaiterKind.WAIT in kinds:
            return ListeningVia.WAIT
        return ListeningVia.STREAM if kinds or agent_id in self._followed else None

    def agents(self) -> list[AgentId]:
        """Whose mail somebody waits for, or follows."""
        return [agent_id for agent_id in self._waiters if agent_id is not None]

    def of(self, agent_id: AgentId) -> list[MailWaiter]:
        """Those who wait for this agent's mail, or follow it."""
        return list(self._waiters.get(agent_id, ()))

    def followers(self) -> dict[AgentId, list[MailWaiter]]:
        """Streams that are of no agent alone, by the agents that they hang on: who is proven to read one, and whose
        inboxes it tells of.
        """
        found = {agent_id: dict(streams) for agent_id, streams in self._followed.items()}
        for agent_id, streams in self._hung.items():
            found.setdefault(agent_id, {}).update(streams)
        return {agent_id: list(streams) for agent_id, streams in found.items()}

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

    def _require_places_of(self, agent_id: AgentId, *, is_proven: bool) -> None:
        if self._held[agent_id, is_proven] >= PLACES_EACH:
            raise NoPlaceToWait(
                f"{PLACES_EACH} waits and streams of this agent are open already.",
                retry_after_s=_RETRY_AFTER_S,
                first="End some of them, or read with fetch_inbox.",
                data={"waiting": PLACES_EACH, "limit": PLACES_EACH},
            )

    def _require_room(self, *, is_proven: bool) -> None:
        waiting, limit = sum(self._counts.values()), self._limit
        if waiting < limit and not is_proven:
            # All of them may be one client's.
            waiting, limit = self._unproven, self._limit - self._limit // RESERVED_PART
        if waiting >= limit:
            is_share = limit < self._limit
            how, first = (" without proof", "Send your registration_token, or read") if is_share else ("", "Read")
            raise NoPlaceToWait(
                f"{waiting} waits and streams are open{how} already.",
                retry_after_s=_RETRY_AFTER_S,
                first=f"{first} with fetch_inbox.",
                data={"waiting": waiting, "limit": limit},
            )

    def free(self, waiter: MailWaiter) -> None:
        """Its place is another's. A repeat does nothing more."""
        waiters = self._waiters.get(waiter.agent_id, {})
        if waiter not in waiters:
            return
        del waiters[waiter]
        self._counts[waiter.kind] -= 1
        self._unproven -= not waiter.is_proven
        if waiter.holder is not None:
            _lessen(self._held, (waiter.holder, waiter.is_proven))
        if not waiters:
            del self._waiters[waiter.agent_id]

    def _tell(self, agents: frozenset[AgentId]) -> None:
        """By the smaller of the two: a commit may change thousands of agents, and few of them wait."""
        for agent_id in agents if len(agents) <= len(self._waiters) else list(self._waiters):
            if agent_id in agents:
                for waiter in self._waiters.get(agent_id, ()):
                    waiter.wake()

    def _tell_rights(self, agents: frozenset[AgentId]) -> None:
        for concerned in (self._waiters, self._followed, self._hung):
            for agent_id in agents if len(agents) <= len(concerned) else list(concerned):
                if agent_id in agents:
                    for waiter in concerned.get(agent_id, ()):
                        waiter.doubt()


def _drop(streams: dict[AgentId, dict[MailWaiter, None]], agent_id: AgentId, stream: MailWaiter) -> None:
    of_agent = streams[agent_id]
    del of_agent[stream]
    if not of_agent:
        del streams[agent_id]


def _lessen(counts: Counter[Key], what: Key) -> None:
    counts[what] -= 1
    if not counts[what]:
        del counts[what]

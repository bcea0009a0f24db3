"""The queue of those who wait for leases: first come, first granted.

It lives on the event loop and in memory: a waiting call holds nothing, so nothing is lost with it. A
waiter in the queue is a claim against everyone who comes later: whoever asks for a path that overlaps
what an earlier call waits for is behind it, waiting or not. That cannot block in a circle, because a
waiting call holds nothing and gives up after 50 seconds at most.

Each waiting call watches one lease that stands in its way. It looks again at the instant that one
ends, expires or is granted anew, and when a call before it in the queue leaves. Whoever can be granted
nothing any more (retired, or its project archived) loses its turn at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import field

from mcp_agent_mail.core.clock import SECOND, Clock, Micros
from mcp_agent_mail.core.concurrency.token_end import TokenEnded, token_ended
from mcp_agent_mail.core.concurrency.work_place import give_up_place
from mcp_agent_mail.core.errors import Busy, Unavailable
from mcp_agent_mail.core.ids import AgentId, LeaseId, ProjectId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.leases import Lease
from mcp_agent_mail.domain.patterns.budget import PatternsTooHard, WorkBudget
from mcp_agent_mail.domain.patterns.pattern import overlap
from mcp_agent_mail.domain.reservations import RequestedPath, WaitingCall
from mcp_agent_mail.store.database import Store

MAX_WAITING = 1_000
MAX_STEPS = 10_000
SHOWN = 20
LOOK_AGAIN_S = 2.0
"""A clock that is set forward lets leases expire sooner than was reckoned."""
_SHORTEST_S = 0.001


class QueueFull(Busy):
    """MAX_WAITING calls wait already."""


class QueueClosed(Unavailable):
    """The server stops; nobody waits any more."""


class CallerLeft(Unavailable):
    """The caller hung up before its turn came. Its call ends with this, which nobody is there to read."""


class TurnLost(Unavailable):
    """The waiting agent was retired, or its project archived: nothing can be granted to it any more."""


def gave_up() -> CallerLeft | TokenEnded:
    """Whoever lost its place with its token may be there still, and is told."""
    return token_ended() or CallerLeft("The caller has left.")


@dataclass(eq=False, slots=True, kw_only=True)
class Waiter:
    """One waiting call. `ahead` are the calls it is behind; it may be granted once there is none left. The writer's
    thread reads `is_given_up` too.
    """

    project_id: ProjectId
    agent_id: AgentId
    shown: WaitingCall
    wanted: Sequence[RequestedPath]
    ahead: set[Waiter] = field(default_factory=set)
    turn: asyncio.Event = field(default_factory=asyncio.Event)
    watched: tuple[LeaseId, int, Micros] | None = None
    is_given_up: bool = False
    is_lost: bool = False

    def watch(self, lease: Lease) -> None:
        """Note the lease that stands in the way: nothing can be granted before it ends, expires or changes."""
        self.watched = (lease.id, lease.fencing, lease.expires_ts)

    def give_up(self) -> None:
        """Note that the caller is gone: nothing is granted to it any more. On the event loop."""
        self.is_given_up = True
        self.turn.set()


class WaitQueue:
    """All who wait, of all projects. `close` wakes them, and each is told that the server stops."""

    def __init__(self, store: Store, *, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._waiters: dict[ProjectId, list[Waiter]] = {}
        self._count = 0
        self._ends = -1
        self._is_closed = False
        store.on_commit(self._look)

    def __len__(self) -> int:
        return self._count

    def waiting(self, project_id: ProjectId, limit: int) -> list[WaitingCall]:
        """The calls that wait in this project, first come first."""
        return [waiter.shown for waiter in self._waiters.get(project_id, ())[:limit]]

    def _ahead_of(
        self,
        project_id: ProjectId,
        agent_id: AgentId,
        wanted: Sequence[RequestedPath],
        among: Collection[Waiter] | None,
    ) -> dict[int, list[Waiter]]:
        """By the number of the wanted path, whose waiting it would overtake. An agent is not behind itself."""
        waiters = [
            waiter
            for waiter in self._waiters.get(project_id, ())
            if waiter.agent_id != agent_id and (among is None or waiter in among)
        ]
        work = WorkBudget(MAX_STEPS)
        found: dict[int, list[Waiter]] = {}
        for number, one in enumerate(wanted if waiters else ()):
            if ahead := [waiter for waiter in waiters if _meets(one, waiter, work)]:
                found[number] = ahead
        return found

    def waited_for(
        self,
        project_id: ProjectId,
        agent_id: AgentId,
        wanted: Sequence[RequestedPath],
        *,
        among: Collection[Waiter] | None = None,
    ) -> dict[int, tuple[WaitingCall, ...]]:
        """Per wanted path, by its number, the waiting calls that want something which overlaps it: all, or those
        `among` them.
        """
        if not self._count:
            return {}
        ahead = self._ahead_of(project_id, agent_id, wanted, among)
        return {number: tuple(waiter.shown for waiter in waiters[:SHOWN]) for number, waiters in ahead.items()}

    def join(self, waiter: Waiter) -> None:
        """Put `waiter` at the end of the queue, behind all whose wishes meet its own. Raises QueueFull, QueueClosed."""
        self._require_open()
        if self._count >= MAX_WAITING:
            raise QueueFull(
                f"{MAX_WAITING} calls wait for reservations already.", otherwise=", or without wait_seconds"
            )
        for ahead in self._ahead_of(waiter.project_id, waiter.agent_id, waiter.wanted, None).values():
            waiter.ahead.update(ahead)
        self._waiters.setdefault(waiter.project_id, []).append(waiter)
        self._count += 1
        give_up_place()

    def leave(self, waiter: Waiter) -> None:
        """Take `waiter` out of the queue, granted or not; who has nothing ahead any more is woken. Safe to repeat."""
        waiters = self._waiters.get(waiter.project_id, [])
        if waiter not in waiters:
            return
        waiters.remove(waiter)
        self._count -= 1
        for other in waiters:
            if waiter in other.ahead:
                other.ahead.remove(waiter)
                if not other.ahead:
                    other.turn.set()
        if not waiters:
            del self._waiters[waiter.project_id]

    async def wait(self, waiter: Waiter, seconds: float) -> None:
        """Until `waiter` should look again, at most so long. Raises QueueClosed, CallerLeft, TokenEnded and
        TurnLost.
        """
        until = asyncio.get_running_loop().time() + seconds
        # Before it joined nobody looked whether it may hold anything.
        self._dismiss([waiter])
        self._require_open()
        _require_caller(waiter)
        while (left := until - asyncio.get_running_loop().time()) > 0:
            if waiter.watched is not None:
                # It may have ended between the last look at it and now.
                watched, now = waiter.watched, self._clock()
                if await self._store.read(lambda view: view.leases.ended_among([watched], now)):  # noqa: B023  # run at once
                    return
                left = min(left, LOOK_AGAIN_S, max(_SHORTEST_S, (watched[2] - now) / SECOND))
            if await _turn_came(waiter, left):
                break
        self._require_open()
        _require_caller(waiter)

    def close(self) -> None:
        """Everybody who waits is woken, and told that the server stops. A repeat does nothing more."""
        self._is_closed = True
        for waiters in self._waiters.values():
            for waiter in waiters:
                waiter.turn.set()

    def _require_open(self) -> None:
        if self._is_closed:
            raise QueueClosed("The server is stopping.", hint="Call again when it is back.")

    def _look(self) -> None:
        """After a commit: who can be granted nothing any more, and whose watched lease no longer stands? Two short
        queries, and a third only when some lease ended.
        """
        if not self._count:
            return
        self._dismiss([waiter for waiters in self._waiters.values() for waiter in waiters])
        ends = self._store.read_now(lambda view: view.leases.ends())
        if ends == self._ends:
            return
        self._ends = ends
        watching = [waiter for waiters in self._waiters.values() for waiter in waiters if waiter.watched is not None]
        watched = {waiter.watched for waiter in watching if waiter.watched is not None}
        gone = self._store.read_now(lambda view: view.leases.ended_among(watched, self._clock()))
        for waiter in watching:
            if waiter.watched is not None and waiter.watched[0] in gone:
                waiter.turn.set()

    def _dismiss(self, waiters: Sequence[Waiter]) -> None:
        """Those of them that are no longer active agents of an active project: they block nobody from now on."""
        asked = {(one.project_id, one.agent_id) for one in waiters}
        active = self._store.read_now(lambda view: view.agents.active(asked))
        for waiter in waiters:
            if (waiter.project_id, waiter.agent_id) not in active:
                waiter.is_lost = True
                waiter.turn.set()
                self.leave(waiter)


async def _turn_came(waiter: Waiter, seconds: float) -> bool:
    try:
        # Not wait_for: cancelled in the moment its turn comes, it would swallow that.
        async with asyncio.timeout(seconds):
            await waiter.turn.wait()
    except TimeoutError:
        return False
    finally:
        waiter.turn.clear()
    return True


def _require_caller(waiter: Waiter) -> None:
    if waiter.is_given_up:
        raise gave_up()
    if waiter.is_lost:
        raise TurnLost(
            f"{waiter.shown.agent} was retired, or its project archived, while this call waited.",
            hint="Call again if it is back.",
            data={"retry_after_s": 1},
        )


def _meets(wanted: RequestedPath, waiter: Waiter, work: WorkBudget) -> bool:
    """Whether both want some path and one of them alone; what is too hard to compare counts as met."""
    try:
        return any(
            (wanted.exclusive or other.exclusive) and overlap(wanted.pattern, other.pattern, work)
            for other in waiter.wanted
        )
    except PatternsTooHard:
        return True

"""Reserving: from a call to its decision in a unit of work, at once or in its turn."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import partial
from typing import Generic, TypeVar

from mcp_agent_mail.core.clock import SECOND, Clock, Micros
from mcp_agent_mail.core.concurrency.hearing import current_hearing
from mcp_agent_mail.core.errors import Busy
from mcp_agent_mail.core.ids import AgentId, LeaseId, ProjectId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.tools import JsonObject
from mcp_agent_mail.domain.identity.caller import Caller
from mcp_agent_mail.domain.leases import Lease, LeaseKind
from mcp_agent_mail.domain.reservations import PathConflict, Patterns, RequestedPath, WaitingCall
from mcp_agent_mail.features.identity.actor import Actor, require_actor
from mcp_agent_mail.features.identity.idempotency import forget_answer, keep_answer
from mcp_agent_mail.features.reservations.answers import Replayed, find_answer, repeat_answer
from mcp_agent_mail.features.reservations.conflicts import NeedsPrecheck, Precheck, others_leases
from mcp_agent_mail.features.reservations.grant import GrantRequest, GrantResult, decide, require_able_to_hold
from mcp_agent_mail.features.reservations.offload import ConflictScanner
from mcp_agent_mail.features.reservations.requests import ReserveRequest
from mcp_agent_mail.features.reservations.wait_queue import TurnLost, Waiter, WaitQueue, gave_up
from mcp_agent_mail.features.reservations.withdrawal import AnsweredLease, take_back
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.leases import ConflictFilter
from mcp_agent_mail.store.transaction import Tx, View

TRIES = 3
"""How often a large call is compared anew when too much was granted meanwhile."""

Outcome = GrantResult | Replayed
T = TypeVar("T")

Reserve = Callable[[Tx, Actor], GrantResult]
"""Reserves, inside a unit of work that does more than that."""

Who = Callable[[View], tuple[ProjectId | None, AgentId | None]]
"""For whom a claim is, as far as they exist already."""


class ReservationsBusy(Busy):
    """Reservations change faster than a large call can be compared with them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Done(Generic[T]):
    """A larger unit of work with what it has reserved."""

    result: T
    reserved: Sequence[GrantResult]


class Reserver:
    """`stale_among` looks, inside a unit of work too, which holders' leases look abandoned; `show` makes the answer
    that is kept for an idempotency key.
    """

    def __init__(
        self,
        store: Store,
        patterns: Patterns,
        *,
        clock: Clock,
        stale_among: Callable[[View, Sequence[PathConflict]], set[LeaseId]],
        show: Callable[[GrantResult, Collection[LeaseId]], JsonObject],
    ) -> None:
        self._store = store
        self._patterns = patterns
        self._clock = clock
        self._stale_among = stale_among
        self._show = show
        self._scanner = ConflictScanner(store, patterns)
        self._queue = WaitQueue(store, clock=clock)

    async def take(self, caller: Caller, holder: Actor, asked: GrantRequest) -> Outcome:
        """Grant at once what is free and nobody has been waiting for."""
        return self._unless_heard(asked.request, await self._decide(caller, holder, asked))

    async def wait(self, caller: Caller, holder: Actor, asked: GrantRequest) -> Outcome:
        """Wait in the queue until all of the call can be granted; after `wait_seconds` nothing is."""
        whole = replace(asked, all_or_nothing=True)
        return self._unless_heard(asked.request, await self._in_turn(caller, holder, whole))

    async def repeat(self, caller: Caller, holder: Actor, request: ReserveRequest) -> Replayed | None:
        """The first answer to the same call, without a look at the workspace; None when there is none yet. Raises
        IdempotencyKeyConflict.
        """
        if await self._store.read(lambda view: find_answer(view, holder, request)) is None:
            return None
        # Asked again in a unit of work: what is told must not be taken back meanwhile.
        known: Replayed | None = await self._store.write(
            partial(_repeat, caller, request), unheard=partial(_take_back, request)
        )
        if known is not None:
            self._unless_heard(request, known)
        return known

    async def _in_turn(self, caller: Caller, holder: Actor, asked: GrantRequest) -> Outcome:
        deadline = _monotonic() + asked.request.wait_seconds
        waiter = self._waiter(holder, asked)
        self._queue.join(waiter)
        try:
            with current_hearing().watched(waiter.give_up):
                while (left := deadline - _monotonic()) > 0:
                    if not waiter.ahead:
                        outcome = await self._decide(caller, holder, asked, in_turn=waiter)
                        if isinstance(outcome, Replayed) or not outcome.conflicts:
                            return outcome
                        waiter.watch(max((lease for one in outcome.conflicts for lease in one.holders), key=_expiry))
                    await self._queue.wait(waiter, left)
                return await self._decide(caller, holder, asked, at_last=waiter)
        except TurnLost:
            # Why, as a call that comes now is told.
            await self._store.read(partial(_require_able, caller, asked.request))
            raise
        finally:
            self._queue.leave(waiter)

    async def within(self, asked: GrantRequest, who: Who, unit: Callable[[Tx, Reserve], T]) -> T:
        """Run `unit` in one unit of work, with a function that grants what is free and nobody has been waiting for."""
        for _ in range(TRIES):
            project_id, agent_id = await self._store.read(who)
            others = others_leases(
                project_id or ProjectId(0), agent_id or AgentId(0), exclusive=asked.request.exclusive
            )
            # In the same step as the unit is queued: nobody can come between.
            asked = replace(asked, waited_for=self.waited_for(others, asked.wanted))
            try:
                done: _Done[T] = await self._store.write(
                    partial(self._with_reserving, unit, others, asked),
                    unheard=partial(_take_back_part, asked.request),
                )
            except NeedsPrecheck:
                asked = replace(asked, precheck=await self._precheck(others, asked))
            else:
                for decided in done.reserved:
                    self._unless_heard(asked.request, decided)
                return done.result
        raise _busy()

    def _with_reserving(
        self, unit: Callable[[Tx, Reserve], T], others: ConflictFilter, asked: GrantRequest, tx: Tx
    ) -> _Done[T]:
        reserved: list[GrantResult] = []

        def reserve(tx: Tx, holder: Actor) -> GrantResult:
            reserved.append(self._reserve_as(others, asked, tx, holder))
            return reserved[-1]

        return _Done(result=unit(tx, reserve), reserved=reserved)

    def _reserve_as(self, others: ConflictFilter, asked: GrantRequest, tx: Tx, holder: Actor) -> GrantResult:
        if holder.agent.id != others.agent_id and tx.leases.count_of_agent(holder.agent.id, LeaseKind.FILE, tx.now):
            # It has come since the look, and holds something already: its own must not stand against it.
            raise NeedsPrecheck
        return decide(tx, holder, asked, self._patterns)

    async def look(self, others: ConflictFilter, wanted: Sequence[RequestedPath]) -> list[list[Lease]]:
        """Who holds what overlaps each wanted path, compared on a thread: for calls too large for the event loop.
        Raises PatternsTooHard and TooMuchAtOnce.
        """
        _, found = await self._scanner.precheck(others, wanted)
        return found

    def waited_for(self, others: ConflictFilter, wanted: Sequence[RequestedPath]) -> dict[int, tuple[WaitingCall, ...]]:
        """Per wanted path, by its number, the calls in the queue that want something which overlaps it."""
        return self._queue.waited_for(others.project_id, others.agent_id, wanted)

    def waiting(self, project_id: ProjectId, limit: int) -> list[WaitingCall]:
        """The calls that wait for leases of this project, first come first."""
        return self._queue.waiting(project_id, limit)

    def wake(self) -> None:
        """The server stops: whoever waits is told."""
        self._queue.close()

    def _waiter(self, holder: Actor, asked: GrantRequest) -> Waiter:
        request = asked.request
        first = asked.wanted[0].pattern.text
        more = f" and {len(asked.wanted) - 1} more" if len(asked.wanted) > 1 else ""
        shown = WaitingCall(
            agent=holder.agent.name,
            path_pattern=f"{first}{more}",
            exclusive=request.exclusive,
            reason=request.reason,
            until_ts=self._clock() + request.wait_seconds * SECOND,
        )
        return Waiter(project_id=holder.project.id, agent_id=holder.agent.id, shown=shown, wanted=asked.wanted)

    def _unless_heard(self, request: ReserveRequest, outcome: Outcome) -> Outcome:
        """The same outcome: what it promises is taken back if it cannot be written."""
        current_hearing().unless_heard(lambda: self._store.write_soon(lambda tx: _take_back(request, tx, outcome)))
        return outcome

    async def _decide(
        self,
        caller: Caller,
        holder: Actor,
        asked: GrantRequest,
        *,
        in_turn: Waiter | None = None,
        at_last: Waiter | None = None,
    ) -> Outcome:
        """`in_turn` is behind nobody and takes only the whole; `at_last` takes whatever answer there is."""
        for _ in range(TRIES):
            # In the same step as the unit is queued: nobody can come between.
            asked = replace(asked, waited_for=self._waited_for(holder, asked, in_turn, at_last))
            try:
                return await self._store.write(
                    partial(self._unit, caller, asked, in_turn or at_last, only_if_granted=in_turn is not None),
                    unheard=partial(_take_back, asked.request),
                )
            except NeedsPrecheck:
                others = others_leases(holder.project.id, holder.agent.id, exclusive=asked.request.exclusive)
                asked = replace(asked, precheck=await self._precheck(others, asked))
        raise _busy()

    def _waited_for(
        self, holder: Actor, asked: GrantRequest, in_turn: Waiter | None, at_last: Waiter | None
    ) -> dict[int, tuple[WaitingCall, ...]]:
        if in_turn is not None:
            return {}
        before = None if at_last is None else at_last.ahead
        return self._queue.waited_for(holder.project.id, holder.agent.id, asked.wanted, among=before)

    async def _precheck(self, others: ConflictFilter, asked: GrantRequest) -> Precheck:
        precheck, _ = await self._scanner.precheck(others, asked.wanted)
        return precheck

    def _unit(
        self, caller: Caller, asked: GrantRequest, waiter: Waiter | None, tx: Tx, *, only_if_granted: bool
    ) -> Outcome:
        request = asked.request
        if waiter is not None and waiter.is_given_up:
            raise gave_up()
        holder = require_actor(tx, caller, request.project_key, request.agent_name)
        if answer := repeat_answer(tx, holder, request):
            return answer
        decided = decide(tx, holder, asked, self._patterns)
        if not (only_if_granted and decided.conflicts):
            keep_answer(tx, holder, request, lambda: self._show(decided, self._stale_among(tx, decided.conflicts)))
        return decided


def _repeat(caller: Caller, request: ReserveRequest, tx: Tx) -> Replayed | None:
    holder = require_actor(tx, caller, request.project_key, request.agent_name)
    return repeat_answer(tx, holder, request)


def _require_able(caller: Caller, request: ReserveRequest, view: View) -> None:
    require_able_to_hold(require_actor(view, caller, request.project_key, request.agent_name))


def _take_back(request: ReserveRequest, tx: Tx, outcome: Outcome | None) -> None:
    """Nobody heard it: what was promised under a key goes in the same unit as the key."""
    if isinstance(outcome, Replayed):
        told = [AnsweredLease(lease=lease) for lease in outcome.live]
        is_undone = not take_back(tx, told, outcome.holder.agent)
    elif outcome is not None:
        told = [AnsweredLease(lease=lease, before=outcome.before.get(lease.id)) for lease in outcome.granted]
        is_undone = not take_back(tx, told, outcome.holder.agent) or not told
    else:
        return
    if is_undone:
        forget_answer(tx, outcome.holder, request)


def _take_back_part(request: ReserveRequest, tx: Tx, done: _Done[object]) -> None:
    for decided in done.reserved:
        _take_back(request, tx, decided)


def _busy() -> ReservationsBusy:
    return ReservationsBusy(
        "Reservations are changing faster than all these paths can be compared with them.",
        otherwise=", or name fewer paths",
    )


def _expiry(lease: Lease) -> Micros:
    return lease.expires_ts


def _monotonic() -> float:
    return asyncio.get_running_loop().time()

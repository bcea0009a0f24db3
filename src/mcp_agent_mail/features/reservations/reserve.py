"""Reserving: from a call to its decision in a unit of work, at once or in its turn."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Generic, TypeVar

from mcp_agent_mail.core.clock import SECOND, Clock, Micros
from mcp_agent_mail.core.concurrency.hearing import current_hearing
from mcp_agent_mail.core.errors import Busy
from mcp_agent_mail.core.ids import AgentId, LeaseId, ProjectId
from mcp_agent_mail.domain.identity.caller import Caller
from mcp_agent_mail.domain.leases import Lease, LeaseKind
from mcp_agent_mail.domain.reservations import PathConflict, Patterns, RequestedPath, WaitingCall
from mcp_agent_mail.features.identity.actor import Actor, require_actor
from mcp_agent_mail.features.identity.idempotency import Wire, forget_answer, keep_answer
from mcp_agent_mail.features.reservations.answers import (
    Replayed,
    find_answer,
    repeat_answer,
)
from mcp_agent_mail.features.reservations.conflicts import ConflictQuery, NeedsPrecheck, Precheck
from mcp_agent_mail.features.reservations.grant import (
    GrantRequest,
    GrantResult,
    decide,
    require_able_to_hold,
)
from mcp_agent_mail.features.reservations.offload import ConflictScanner
from mcp_agent_mail.features.reservations.requests import ReserveRequest
from mcp_agent_mail.features.reservations.withdrawal import AnsweredLease, take_back
from mcp_agent_mail.features.reservations.wait_queue import TurnLost, Waiter, WaitQueue, gave_up
from mcp_agent_mail.store.database import Store
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
class ReserveCall:
    """One reservation on its way, as it is known before a unit of work."""

    caller: Caller
    request: ReserveRequest
    holder: Actor
    wanted: Sequence[RequestedPath]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReservationPlan:
    """A reservation that is part of a larger unit of work: as it is known before that."""

    request: ReserveRequest
    wanted: Sequence[RequestedPath]


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
        show: Callable[[GrantResult, Collection[LeaseId]], Wire],
    ) -> None:
        self._store = store
        self._patterns = patterns
        self._clock = clock
        self._stale_among = stale_among
        self._show = show
        self._judge = ConflictScanner(store, patterns)
        self._line = WaitQueue(store, clock=clock)

    async def take(self, call: ReserveCall) -> Outcome:
        """What is free now and nobody has been waiting for."""
        return self._unless_heard(call.request, await self._decide(call, all_or_nothing=False))

    async def wait(self, call: ReserveCall) -> Outcome:
        """All of it, or after `wait_seconds` nothing; first come, first granted."""
        return self._unless_heard(call.request, await self._repeated(call) or await self._in_line(call))

    async def _repeated(self, call: ReserveCall) -> Replayed | None:
        """Asked again in a unit of work: what is told must not be taken back meanwhile."""
        if await self._store.read(lambda view: find_answer(view, call.holder, call.request)) is None:
            return None
        return await self._store.write(partial(_repeat, call), unheard=partial(_take_back, call.request))

    async def _in_line(self, call: ReserveCall) -> Outcome:
        request = call.request
        deadline = _monotonic() + request.wait_seconds
        place = self._place(call)
        self._line.join(place)
        try:
            with current_hearing().watched(place.give_up):
                while (left := deadline - _monotonic()) > 0:
                    if not place.ahead:
                        outcome = await self._decide(call, all_or_nothing=True, in_turn=place)
                        if isinstance(outcome, Replayed) or not outcome.conflicts:
                            return outcome
                        place.watch(max((lease for one in outcome.conflicts for lease in one.holders), key=_expiry))
                    await self._line.wait(place, left)
                return await self._decide(call, all_or_nothing=True, at_last=place)
        except TurnLost:
            # Why, as a call that comes now is told.
            await self._store.read(partial(_require_able, call))
            raise
        finally:
            self._line.leave(place)

    async def within(self, claim: ReservationPlan, who: Who, unit: Callable[[Tx, Reserve], T]) -> T:
        """What is free now and nobody has been waiting for, in one unit of work with whatever else `unit` does."""
        decision = GrantRequest(request=claim.request, wanted=claim.wanted)
        for _ in range(TRIES):
            project_id, agent_id = await self._store.read(who)
            asking = ConflictQuery(
                project_id=project_id or ProjectId(0), agent_id=agent_id or AgentId(0), now=self._clock()
            )
            # In the same step as the unit is queued: nobody can come between.
            decision = replace(decision, waited_for=self.waited_for(asking, claim.wanted))
            try:
                done: _Done[T] = await self._store.write(
                    partial(self._with_reserving, unit, asking, decision),
                    unheard=partial(_take_back_part, claim.request),
                )
            except NeedsPrecheck:
                precheck, _ = await self._judge.precheck(asking, claim.wanted)
                decision = replace(decision, precheck=precheck)
            else:
                for decided in done.reserved:
                    self._unless_heard(claim.request, decided)
                return done.result
        raise _busy()

    def _with_reserving(
        self, unit: Callable[[Tx, Reserve], T], asking: ConflictQuery, decision: GrantRequest, tx: Tx
    ) -> _Done[T]:
        reserved: list[GrantResult] = []

        def reserve(tx: Tx, holder: Actor) -> GrantResult:
            reserved.append(self._reserve_as(asking, decision, tx, holder))
            return reserved[-1]

        return _Done(result=unit(tx, reserve), reserved=reserved)

    def _reserve_as(self, asking: ConflictQuery, decision: GrantRequest, tx: Tx, holder: Actor) -> GrantResult:
        if holder.agent.id != asking.agent_id and tx.leases.count_of_agent(holder.agent.id, LeaseKind.FILE, tx.now):
            # It has come since the look, and holds something already: its own must not stand against it.
            raise NeedsPrecheck
        return decide(tx, holder, decision, self._patterns)

    async def look(self, asking: ConflictQuery, wanted: Sequence[RequestedPath]) -> list[list[Lease]]:
        """For calls too large for a look on the event loop."""
        _, found = await self._judge.precheck(asking, wanted)
        return found

    def waited_for(self, asking: ConflictQuery, wanted: Sequence[RequestedPath]) -> dict[int, tuple[WaitingCall, ...]]:
        """By the number of the wanted path, who waits for what it overlaps."""
        return self._line.waited_for(asking.project_id, asking.agent_id, wanted)

    def wake(self) -> None:
        """The server stops: whoever waits is told."""
        self._line.close()

    def _place(self, call: ReserveCall) -> Waiter:
        request = call.request
        first = call.wanted[0].pattern.text
        more = f" and {len(call.wanted) - 1} more" if len(call.wanted) > 1 else ""
        shown = WaitingCall(
            agent=call.holder.agent.name,
            path_pattern=f"{first}{more}",
            exclusive=request.exclusive,
            reason=request.reason,
            until_ts=self._clock() + request.wait_seconds * SECOND,
        )
        return Waiter(project_id=call.holder.project.id, agent_id=call.holder.agent.id, shown=shown, wanted=call.wanted)

    def _unless_heard(self, request: ReserveRequest, outcome: Outcome) -> Outcome:
        """The same outcome: what it promises is taken back if it cannot be written."""
        current_hearing().unless_heard(lambda: self._store.write_soon(lambda tx: _take_back(request, tx, outcome)))
        return outcome

    async def _decide(
        self, call: ReserveCall, *, all_or_nothing: bool, in_turn: Waiter | None = None, at_last: Waiter | None = None
    ) -> Outcome:
        """`in_turn` is behind nobody and takes only the whole; `at_last` takes whatever answer there is."""
        decision = GrantRequest(request=call.request, wanted=call.wanted, all_or_nothing=all_or_nothing)
        for _ in range(TRIES):
            # In the same step as the unit is queued: nobody can come between.
            decision = replace(decision, waited_for=self._waited_for(call, in_turn, at_last))
            try:
                return await self._store.write(
                    partial(self._unit, call, decision, in_turn or at_last, only_if_granted=in_turn is not None),
                    unheard=partial(_take_back, call.request),
                )
            except NeedsPrecheck:
                decision = replace(decision, precheck=await self._foresee(call))
        raise _busy()

    def _waited_for(
        self, call: ReserveCall, in_turn: Waiter | None, at_last: Waiter | None
    ) -> dict[int, tuple[WaitingCall, ...]]:
        if in_turn is not None:
            return {}
        before = None if at_last is None else at_last.ahead
        return self._line.waited_for(call.holder.project.id, call.holder.agent.id, call.wanted, among=before)

    async def _foresee(self, call: ReserveCall) -> Precheck:
        holder = call.holder
        asking = ConflictQuery(project_id=holder.project.id, agent_id=holder.agent.id, now=self._clock())
        precheck, _ = await self._judge.precheck(asking, call.wanted)
        return precheck

    def _unit(
        self, call: ReserveCall, decision: GrantRequest, place: Waiter | None, tx: Tx, *, only_if_granted: bool
    ) -> Outcome:
        request = call.request
        if place is not None and place.is_given_up:
            raise gave_up()
        holder = require_actor(tx, call.caller, request.project_key, request.agent_name)
        if answer := repeat_answer(tx, holder, request):
            return answer
        decided = decide(tx, holder, decision, self._patterns)
        if not (only_if_granted and decided.conflicts):
            keep_answer(tx, holder, request, lambda: self._show(decided, self._stale_among(tx, decided.conflicts)))
        return decided


def _repeat(call: ReserveCall, tx: Tx) -> Replayed | None:
    holder = require_actor(tx, call.caller, call.request.project_key, call.request.agent_name)
    return repeat_answer(tx, holder, call.request)


def _require_able(call: ReserveCall, view: View) -> None:
    require_able_to_hold(require_actor(view, call.caller, call.request.project_key, call.request.agent_name))


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

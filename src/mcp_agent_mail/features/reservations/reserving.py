"""Reserving: from a call to its decision in a unit of work, at once or in its turn."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

from mcp_agent_mail.core.clock import SECOND, Clock, Micros
from mcp_agent_mail.core.errors import AgentMailError, Unavailable
from mcp_agent_mail.core.ids import AgentId, LeaseId, ProjectId
from mcp_agent_mail.domain.caller import Caller
from mcp_agent_mail.domain.leases import EndedBy, Lease, LeaseKind
from mcp_agent_mail.domain.reservations import PathConflict, Patterns, Waiting, Wanted
from mcp_agent_mail.features.reservations.answers import Replayed, Wire, find_answer, keep_answer
from mcp_agent_mail.features.reservations.conflicts import Asking, Foresight, TooMuchHere
from mcp_agent_mail.features.reservations.deciding import Decided, Decision, Holder, decide, require_holder
from mcp_agent_mail.features.reservations.judging import Judge
from mcp_agent_mail.features.reservations.requests import ReserveRequest
from mcp_agent_mail.features.reservations.waiting import Line, Place
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.ending import end_leases
from mcp_agent_mail.store.view import Tx, View

TRIES = 3
"""How often a large call is compared anew when too much was granted meanwhile."""

Outcome = Decided | Replayed
T = TypeVar("T")

Reserve = Callable[[Tx, Holder], Decided]
"""Reserves, inside a unit of work that does more than that."""

Who = Callable[[View], tuple[ProjectId | None, AgentId | None]]
"""For whom a claim is, as far as they exist already."""


class ReservationsBusy(Unavailable):
    """Reservations change faster than a large call can be compared with them."""


class CallerLeft(Unavailable):
    """Nobody hears this: the caller was gone before its turn came."""


@dataclass(slots=True)
class Presence:
    """Whether the caller is still there; read by the writer's thread."""

    has_left: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One reservation on its way, as it is known before a unit of work."""

    caller: Caller
    request: ReserveRequest
    holder: Holder
    wanted: Sequence[Wanted]
    presence: Presence = field(default_factory=Presence)


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A reservation that is part of a larger unit of work: as it is known before that."""

    request: ReserveRequest
    wanted: Sequence[Wanted]


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
        stale_among: Callable[[View, Sequence[PathConflict], Micros], set[LeaseId]],
        show: Callable[[Decided, Collection[LeaseId]], Wire],
    ) -> None:
        self._store = store
        self._patterns = patterns
        self._clock = clock
        self._stale_among = stale_among
        self._show = show
        self._judge = Judge(store, patterns)
        self._line = Line(store, clock=clock)
        self._undoing: set[asyncio.Task[None]] = set()

    async def take(self, call: Call) -> Outcome:
        """What is free now and nobody has been waiting for."""
        return await self._decide(call, all_or_nothing=False)

    async def wait(self, call: Call) -> Outcome:
        """All of it, or after `wait_seconds` nothing; first come, first granted."""
        request = call.request
        if answer := self._store.read(lambda view: find_answer(view, call.holder, request, self._clock())):
            return answer
        deadline = _monotonic() + request.wait_seconds
        place = self._place(call)
        self._line.join(place)
        try:
            while (left := deadline - _monotonic()) > 0:
                if not place.ahead:
                    outcome = await self._try(call, only_if_granted=True)
                    if isinstance(outcome, Replayed) or not outcome.conflicts:
                        return outcome
                    place.watch(max((lease for one in outcome.conflicts for lease in one.holders), key=_expiry))
                await self._line.wait(place, left)
            return await self._try(call, only_if_granted=False, place=place)
        finally:
            self._line.leave(place)

    async def within(self, claim: Claim, who: Who, unit: Callable[[Tx, Reserve], T]) -> T:
        """What is free now and nobody has been waiting for, in one unit of work with whatever else `unit` does."""
        decision = Decision(request=claim.request, wanted=claim.wanted)
        for _ in range(TRIES):
            project_id, agent_id = self._store.read(who)
            asking = Asking(project_id=project_id or ProjectId(0), agent_id=agent_id or AgentId(0), now=self._clock())
            # In the same step as the unit is queued: nobody can come between.
            decision = replace(decision, waited_for=self.waited_for(asking, claim.wanted))
            reserve = partial(self._reserve_as, asking, decision)
            try:
                return await self._store.write(lambda tx, reserve=reserve: unit(tx, reserve))  # type: ignore[misc]  # bound as it is now
            except TooMuchHere:
                foresight, _ = await self._judge.foresee(asking, claim.wanted)
                decision = replace(decision, foresight=foresight)
        raise _busy()

    def _reserve_as(self, asking: Asking, decision: Decision, tx: Tx, holder: Holder) -> Decided:
        if holder.agent.id != asking.agent_id and tx.leases.count_of_agent(holder.agent.id, LeaseKind.FILE, tx.now()):
            # It has come since the look, and holds something already: its own must not stand against it.
            raise TooMuchHere
        return decide(tx, holder, decision, self._patterns)

    async def look(self, asking: Asking, wanted: Sequence[Wanted]) -> list[list[Lease]]:
        """For calls too large for a look on the event loop."""
        _, found = await self._judge.foresee(asking, wanted)
        return found

    def waited_for(self, asking: Asking, wanted: Sequence[Wanted]) -> dict[int, tuple[Waiting, ...]]:
        """By the number of the wanted path, who waits for what it overlaps."""
        return self._line.waited_for(asking.project_id, asking.agent_id, wanted)

    def wake(self) -> None:
        """The server stops: whoever waits is told."""
        self._line.close()

    async def close(self) -> None:
        """What callers who left were granted is given back."""
        self._line.close()
        while self._undoing:
            await asyncio.gather(*self._undoing)

    def _place(self, call: Call) -> Place:
        request = call.request
        first = call.wanted[0].pattern.text
        more = f" and {len(call.wanted) - 1} more" if len(call.wanted) > 1 else ""
        shown = Waiting(
            agent=call.holder.agent.name,
            path_pattern=f"{first}{more}",
            exclusive=request.exclusive,
            reason=request.reason,
            until_ts=self._clock() + request.wait_seconds * SECOND,
        )
        return Place(project_id=call.holder.project.id, agent_id=call.holder.agent.id, shown=shown, wanted=call.wanted)

    async def _try(self, call: Call, *, only_if_granted: bool, place: Place | None = None) -> Outcome:
        """A decision that is given back if the caller leaves meanwhile. Without a `place` it is the caller's turn."""
        task = asyncio.ensure_future(
            self._decide(call, all_or_nothing=True, only_if_granted=only_if_granted, place=place)
        )
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            call.presence.has_left = True
            undoing = asyncio.ensure_future(self._undo(task))
            self._undoing.add(undoing)
            undoing.add_done_callback(self._undoing.discard)
            raise

    async def _undo(self, task: asyncio.Future[Outcome]) -> None:
        try:
            outcome = await task
        except AgentMailError:
            return
        if isinstance(outcome, Decided):
            fresh = [lease for lease in outcome.granted if lease.created_ts == outcome.now]
            await self._store.write(
                lambda tx: end_leases(tx, fresh, EndedBy.RELEASE, tx.now(), acting=outcome.holder.agent)
            )

    async def _decide(
        self, call: Call, *, all_or_nothing: bool, only_if_granted: bool = False, place: Place | None = None
    ) -> Outcome:
        decision = Decision(request=call.request, wanted=call.wanted, all_or_nothing=all_or_nothing)
        for _ in range(TRIES):
            # In the same step as the unit is queued: nobody can come between.
            decision = replace(decision, waited_for=self._waited_for(call, place, in_turn=only_if_granted))
            try:
                return await self._store.write(partial(self._unit, call, decision, only_if_granted=only_if_granted))
            except TooMuchHere:
                decision = replace(decision, foresight=await self._foresee(call))
        raise _busy()

    def _waited_for(self, call: Call, place: Place | None, *, in_turn: bool) -> dict[int, tuple[Waiting, ...]]:
        if in_turn:
            return {}
        before = None if place is None else place.ahead
        return self._line.waited_for(call.holder.project.id, call.holder.agent.id, call.wanted, among=before)

    async def _foresee(self, call: Call) -> Foresight:
        holder = call.holder
        asking = Asking(project_id=holder.project.id, agent_id=holder.agent.id, now=self._clock())
        foresight, _ = await self._judge.foresee(asking, call.wanted)
        return foresight

    def _unit(self, call: Call, decision: Decision, tx: Tx, *, only_if_granted: bool) -> Outcome:
        request = call.request
        if call.presence.has_left:
            raise CallerLeft("The caller has left.")
        holder = require_holder(tx, call.caller, request.project_key, request.agent_name)
        if answer := find_answer(tx, holder, request, tx.now()):
            return answer
        decided = decide(tx, holder, decision, self._patterns)
        if not (only_if_granted and decided.conflicts):
            keep_answer(
                tx, holder, request, lambda: self._show(decided, self._stale_among(tx, decided.conflicts, decided.now))
            )
        return decided


def _busy() -> ReservationsBusy:
    return ReservationsBusy(
        "Reservations are changing faster than all these paths can be compared with them.",
        hint="Call again shortly, or name fewer paths.",
        data={"retry_after_s": 1},
    )


def _expiry(lease: Lease) -> Micros:
    return lease.expires_ts


def _monotonic() -> float:
    return asyncio.get_running_loop().time()

"""Build slots: the use cases. Who holds a slot is decided in the unit of work that grants it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.concurrency.hearing import current_hearing
from mcp_agent_mail.core.errors import Unavailable
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.build_slots import in_the_way
from mcp_agent_mail.domain.identity.caller import Caller
from mcp_agent_mail.domain.leases import EndedBy, Lease, LeaseKeys, LeaseKind, NewLease
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.domain.reservations import MAX_LIVE_LEASES, TooManyLeases
from mcp_agent_mail.features.build_slots.results import AcquiredSlot, ReleasedSlot, RenewedSlot, SlotRequest
from mcp_agent_mail.features.identity.actor import Actor, AgentRetired, require_actor
from mcp_agent_mail.features.projects.lookup import require_project, require_writable
from mcp_agent_mail.features.reservations.withdrawal import AnsweredLease, take_back
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.lease_events import end_leases, record_event
from mcp_agent_mail.store.leases import ConflictFilter
from mcp_agent_mail.store.transaction import Tx, View
from mcp_agent_mail.workspace.facts import Workspaces

CONFLICTS_SHOWN = 20
_HELD_AT_MOST = 10_000

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class _SlotCall:
    """Who asks in a unit of work, and what of the slot is its own already."""

    actor: Actor
    own: Lease | None
    now: Micros


@dataclass(frozen=True, slots=True, kw_only=True)
class _SlotAnswer(Generic[T]):
    """What a unit of work has done, and for whom."""

    agent: Agent
    result: T


class BuildSlotService:
    """`note_activity` hears of every agent that calls."""

    def __init__(self, store: Store, workspaces: Workspaces, *, note_activity: Callable[[Agent], None]) -> None:
        self._store = store
        self._workspaces = workspaces
        self._note_activity = note_activity

    async def acquire(self, caller: Caller, request: SlotRequest, *, ttl_s: int, exclusive: bool) -> AcquiredSlot:
        """Take the slot, or learn who has it. One's own is prolonged, never shortened."""
        project = await self._store.read(lambda view: require_project(view, request.project_key))
        # Before the unit of work: it asks Git, and is remembered for some seconds.
        branch = await self._branch(project)

        def take(tx: Tx, call: _SlotCall) -> AcquiredSlot:
            standing = ConflictFilter(
                project_id=call.actor.project.id,
                kind=LeaseKind.SLOT,
                agent_id=call.actor.agent.id,
                with_shared=exclusive,
            )
            held = tx.leases.at_anchors(standing, [request.slot], _HELD_AT_MOST)
            others = in_the_way(held, call.actor.agent.id, exclusive=exclusive, now=call.now)
            if others:
                return AcquiredSlot(granted=None, conflicts=others[:CONFLICTS_SHOWN])
            expires_ts = Micros(call.now + ttl_s * SECOND)
            if call.own is None:
                granted = _grant(tx, call, request.slot, expires_ts, exclusive=exclusive, branch=branch)
            else:
                granted = _prolong(tx, call.own, Micros(max(call.own.expires_ts, expires_ts)), exclusive=exclusive)
            record_event(tx, granted, call.actor.project, acting=call.actor.agent)
            return AcquiredSlot(granted=granted, before=call.own, conflicts=[])

        return await self._act(caller, request, take, unheard=_take_back)

    async def _branch(self, project: Project) -> str | None:
        """For the record alone: a directory that does not answer keeps nobody from the slot."""
        try:
            return await self._workspaces.looks.look(
                project.human_key, lambda: self._workspaces.branch(project.human_key)
            )
        except Unavailable:
            return None

    async def renew(self, caller: Caller, request: SlotRequest, *, extend_s: int) -> RenewedSlot:
        """Hold it for so long from now. One that has expired is held no more: acquire it again."""

        def prolong(tx: Tx, call: _SlotCall) -> RenewedSlot:
            if call.own is None:
                return RenewedSlot(expires_ts=None)
            renewed = tx.leases.prolong(call.own, Micros(call.now + extend_s * SECOND))
            record_event(tx, renewed, call.actor.project, acting=call.actor.agent)
            return RenewedSlot(expires_ts=renewed.expires_ts)

        return await self._act(caller, request, prolong)

    async def release(self, caller: Caller, request: SlotRequest) -> ReleasedSlot:
        """Give it back. Safe to repeat."""

        def end(tx: Tx, call: _SlotCall) -> ReleasedSlot:
            held = [] if call.own is None else [call.own]
            ended = end_leases(tx, held, EndedBy.RELEASE, acting=call.actor.agent)
            return ReleasedSlot(released_ts=ended[0].released_ts if ended else None)

        return await self._act(caller, request, end)

    async def _act(
        self,
        caller: Caller,
        request: SlotRequest,
        act: Callable[[Tx, _SlotCall], T],
        unheard: Callable[[Tx, _SlotAnswer[T]], object] | None = None,
    ) -> T:
        def unit(tx: Tx) -> _SlotAnswer[T]:
            call = _require_call(tx, caller, request)
            return _SlotAnswer(agent=call.actor.agent, result=act(tx, call))

        answer = await self._store.write(unit, unheard=unheard)
        if unheard is not None:
            current_hearing().unless_heard(lambda: self._store.write_soon(lambda tx: unheard(tx, answer)))
        if not caller.is_operator:
            self._note_activity(answer.agent)
        return answer.result


def _take_back(tx: Tx, answer: _SlotAnswer[AcquiredSlot]) -> None:
    """Nobody heard that the slot was granted."""
    acquired = answer.result
    if acquired.granted is not None:
        take_back(tx, [AnsweredLease(lease=acquired.granted, before=acquired.before)], answer.agent)


def _require_call(view: View, caller: Caller, request: SlotRequest) -> _SlotCall:
    actor = require_actor(view, caller, request.project_key, request.agent_name)
    require_writable(actor.project)
    agent = actor.agent
    if agent.is_retired:
        raise AgentRetired(
            f"{agent.name} is retired and holds nothing.",
            hint=f"unretire_agent(agent_name={agent.name!r}) brings it back.",
        )
    own = view.leases.own(agent.id, LeaseKind.SLOT, [request.slot], view.now).get(request.slot)
    return _SlotCall(actor=actor, own=own, now=view.now)


def _grant(tx: Tx, call: _SlotCall, slot: str, expires_ts: Micros, *, exclusive: bool, branch: str | None) -> Lease:
    if tx.leases.count_of_agent(call.actor.agent.id, LeaseKind.SLOT, call.now) >= MAX_LIVE_LEASES:
        raise TooManyLeases(
            f"{call.actor.agent.name} holds {MAX_LIVE_LEASES} build slots, the most that one agent may.",
            hint="release_build_slot gives back the ones it does not need.",
            data={"limit": MAX_LIVE_LEASES},
        )
    tx.require_room()
    new = NewLease(
        project_id=call.actor.project.id,
        agent_id=call.actor.agent.id,
        agent=call.actor.agent.name,
        kind=LeaseKind.SLOT,
        path_pattern=slot,
        keys=LeaseKeys(anchor=slot),
        exclusive=exclusive,
        reason="",
        expires_ts=expires_ts,
        branch=branch,
    )
    return tx.leases.add(new, call.now)


def _prolong(tx: Tx, own: Lease, expires_ts: Micros, *, exclusive: bool) -> Lease:
    """The same id; a change between shared and exclusive is a grant of its own, with a number of its own."""
    if own.exclusive == exclusive:
        return tx.leases.prolong(own, expires_ts)
    return tx.leases.regrant(
        own, expires_ts, exclusive=exclusive, is_folder=False, keys=LeaseKeys(anchor=own.path_pattern), reason=""
    )

"""Build slots: the use cases. Who holds a slot is decided in the unit of work that grants it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.concurrency.hearing import current_hearing
from mcp_agent_mail.core.errors import Unavailable
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.build_slots import in_the_way
from mcp_agent_mail.domain.identity.caller import Caller, require_to_act
from mcp_agent_mail.domain.leases import EndedBy, Lease, LeaseKeys, LeaseKind, NewLease
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.domain.reservations import MAX_LIVE_LEASES, HolderRetired, TooManyLeases
from mcp_agent_mail.features.build_slots.results import AcquiredSlot, ReleasedSlot, RenewedSlot, SlotRequest
from mcp_agent_mail.features.identity.lookup import require_agent
from mcp_agent_mail.features.projects.lookup import require_project, require_writable
from mcp_agent_mail.features.reservations.taking_back import AnsweredLease, take_back
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.lease_events import end_leases, record_event
from mcp_agent_mail.store.leases import ConflictFilter
from mcp_agent_mail.store.transaction import Tx, View
from mcp_agent_mail.workspace.facts import Workspaces

CONFLICTS_SHOWN = 20
_HELD_AT_MOST = 10_000

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asking:
    project: Project
    agent: Agent
    own: Lease | None
    now: Micros


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

        def take(tx: Tx, asking: _Asking) -> AcquiredSlot:
            standing = ConflictFilter(
                project_id=asking.project.id, kind=LeaseKind.SLOT, agent_id=asking.agent.id, with_shared=exclusive
            )
            held = tx.leases.at_anchors(standing, [request.slot], _HELD_AT_MOST)
            others = in_the_way(held, asking.agent.id, exclusive=exclusive, now=asking.now)
            if others:
                return AcquiredSlot(granted=None, conflicts=others[:CONFLICTS_SHOWN])
            expires_ts = Micros(asking.now + ttl_s * SECOND)
            if asking.own is None:
                granted = _grant(tx, asking, request.slot, expires_ts, exclusive=exclusive, branch=branch)
            else:
                granted = _prolong(tx, asking.own, Micros(max(asking.own.expires_ts, expires_ts)), exclusive=exclusive)
            record_event(tx, granted, asking.project, acting=asking.agent)
            return AcquiredSlot(granted=granted, before=asking.own, conflicts=[])

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

        def prolong(tx: Tx, asking: _Asking) -> RenewedSlot:
            if asking.own is None:
                return RenewedSlot(expires_ts=None)
            renewed = tx.leases.prolong(asking.own, Micros(asking.now + extend_s * SECOND))
            record_event(tx, renewed, asking.project, acting=asking.agent)
            return RenewedSlot(expires_ts=renewed.expires_ts)

        return await self._act(caller, request, prolong)

    async def release(self, caller: Caller, request: SlotRequest) -> ReleasedSlot:
        """Give it back. Safe to repeat."""

        def end(tx: Tx, asking: _Asking) -> ReleasedSlot:
            held = [] if asking.own is None else [asking.own]
            ended = end_leases(tx, held, EndedBy.RELEASE, acting=asking.agent)
            return ReleasedSlot(released_ts=ended[0].released_ts if ended else None)

        return await self._act(caller, request, end)

    async def _act(
        self,
        caller: Caller,
        request: SlotRequest,
        act: Callable[[Tx, _Asking], T],
        unheard: Callable[[Tx, tuple[Agent, T]], object] | None = None,
    ) -> T:
        def unit(tx: Tx) -> tuple[Agent, T]:
            asking = _require_asking(tx, caller, request)
            return asking.agent, act(tx, asking)

        done = agent, outcome = await self._store.write(unit, unheard=unheard)
        if unheard is not None:
            current_hearing().unless_heard(lambda: self._store.write_soon(lambda tx: unheard(tx, done)))
        if not caller.is_operator:
            self._note_activity(agent)
        return outcome


def _take_back(tx: Tx, done: tuple[Agent, AcquiredSlot]) -> None:
    """Nobody heard that the slot was granted."""
    agent, acquired = done
    if acquired.granted is not None:
        take_back(tx, [AnsweredLease(lease=acquired.granted, before=acquired.before)], agent)


def _require_asking(view: View, caller: Caller, request: SlotRequest) -> _Asking:
    project = require_project(view, request.project_key)
    agent = require_agent(view, project, request.agent_name)
    require_to_act(caller, agent)
    require_writable(project)
    if agent.is_retired:
        raise HolderRetired(
            f"{agent.name} is retired and holds nothing.",
            hint=f"unretire_agent(agent_name={agent.name!r}) brings it back.",
        )
    own = view.leases.own(agent.id, LeaseKind.SLOT, [request.slot], view.now).get(request.slot)
    return _Asking(project=project, agent=agent, own=own, now=view.now)


def _grant(tx: Tx, asking: _Asking, slot: str, expires_ts: Micros, *, exclusive: bool, branch: str | None) -> Lease:
    if tx.leases.count_of_agent(asking.agent.id, LeaseKind.SLOT, asking.now) >= MAX_LIVE_LEASES:
        raise TooManyLeases(
            f"{asking.agent.name} holds {MAX_LIVE_LEASES} build slots, the most that one agent may.",
            hint="release_build_slot gives back the ones it does not need.",
            data={"limit": MAX_LIVE_LEASES},
        )
    new = NewLease(
        project_id=asking.project.id,
        agent_id=asking.agent.id,
        agent=asking.agent.name,
        kind=LeaseKind.SLOT,
        path_pattern=slot,
        keys=LeaseKeys(anchor=slot),
        exclusive=exclusive,
        reason="",
        expires_ts=expires_ts,
        branch=branch,
    )
    return tx.leases.add(new, asking.now)


def _prolong(tx: Tx, own: Lease, expires_ts: Micros, *, exclusive: bool) -> Lease:
    """The same id; a change between shared and exclusive is a grant of its own, with a number of its own."""
    if own.exclusive == exclusive:
        return tx.leases.prolong(own, expires_ts)
    return tx.leases.regrant(
        own, expires_ts, exclusive=exclusive, is_folder=False, keys=LeaseKeys(anchor=own.path_pattern), reason=""
    )

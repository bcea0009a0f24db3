"""The sweeper: writes down what has expired, and releases what idle holders left, with the evidence.

One task beside the requests. Each pass is bounded; what it did not get to comes first in the next one.
Evidence is gathered in threads before the unit of work, which looks at calls and mail once more.
"""

from __future__ import annotations

import logging
import time
from functools import partial

from mcp_agent_mail.core.clock import SECOND, Clock, Micros
from mcp_agent_mail.core.concurrency.periodic_work import Periodic
from mcp_agent_mail.core.ids import AgentId, LeaseId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.leases import EndedBy, Lease, LeaseKind
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.domain.staleness import Missing, WorkspaceActivity
from mcp_agent_mail.features.health.results import SweepFigures
from mcp_agent_mail.features.identity.system_mail import post_system_mail
from mcp_agent_mail.features.reservations.notices import idle_notice
from mcp_agent_mail.features.reservations.staleness import Staleness, show_evidence
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.lease_events import end_leases, sweep_expired
from mcp_agent_mail.store.transaction import Tx, View

logger = logging.getLogger("mcp_agent_mail.reservations")

AT_ONCE = 25
"""Leases that one unit of work ends: about 3 ms."""
EXPIRED_PER_PASS = 2_000
HOLDERS_PER_PASS = 500
LOOKS_PER_PASS = 200
LOOKING_S = 20.0
_MOST_OF_A_HOLDER = 1_000
_SLEPT_S = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepRules:
    """`releases_idle` False leaves idle holders alone; what has expired is written down all the same."""

    releases_idle: bool
    interval_s: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Idle:
    project: Project
    agent: Agent
    leases: list[Lease]


class Sweeper:
    """`start()` on the running loop, `await stop()` while the store is still open."""

    def __init__(self, store: Store, staleness: Staleness, *, rules: SweepRules, clock: Clock) -> None:
        self._store = store
        self._staleness = staleness
        self._rules = rules
        self._clock = clock
        self.keeper = Periodic("reservations-sweeper", self.sweep, interval_s=rules.interval_s)
        self.start = self.keeper.start
        self.stop = self.keeper.stop
        self._after = 0
        self._swept_at: Micros | None = None
        self._expired = 0
        self._released = 0

    def figures(self) -> SweepFigures:
        """Counts since the server started."""
        return SweepFigures(
            releases_idle=self._rules.releases_idle,
            swept_at=self._swept_at,
            expired=self._expired,
            released_idle=self._released,
            last_error=self.keeper.error,
        )

    async def sweep(self) -> None:
        """One pass: end what has expired, then release what idle holders left. Raises what a sick store raises."""
        now = self._clock()
        self._notice_sleep(now)
        await self._end_expired()
        if self._rules.releases_idle:
            await self._release_idle(now)
        self._swept_at = now

    def _notice_sleep(self, now: Micros) -> None:
        """A machine that slept, or whose clock was put forward, could hear nobody: that is no idleness."""
        self._staleness.hear(now)
        allowed = (self._rules.interval_s + LOOKING_S + _SLEPT_S) * SECOND
        if self._swept_at is not None and now - self._swept_at > allowed:
            self._staleness.watch_from(now)

    async def _end_expired(self) -> None:
        for _ in range(EXPIRED_PER_PASS // AT_ONCE):
            ended = await self._store.write(lambda tx: sweep_expired(tx, AT_ONCE))
            self._expired += len(ended)
            if len(ended) < AT_ONCE or self.keeper.is_stopping:
                return

    async def _release_idle(self, now: Micros) -> None:
        looks = LOOKS_PER_PASS
        until = time.monotonic() + LOOKING_S
        for holder in await self._store.read(self._idle_holders):
            # The longest not looked at first: a holder of very many gets its turn for each of them.
            leases = sorted(holder.leases, key=self._staleness.seen_at)[:looks]
            looks -= len(leases)
            seen: dict[LeaseId, WorkspaceActivity] = {}
            for lease in leases:
                if self.keeper.is_stopping or time.monotonic() > until:
                    break
                seen[lease.id] = await self._staleness.look(holder.project, lease, now, anew=False)
            await self._release_stale(holder, seen)
            if looks <= 0 or self.keeper.is_stopping or time.monotonic() > until:
                return

    def _idle_holders(self, view: View) -> list[_Idle]:
        """Idle by their calls and their mail, from where the last pass ended, else from the first."""
        began = self._after
        idle: list[_Idle] = []
        for looked_at, agent_id in enumerate(view.holders.after(self._after)):
            if looked_at >= HOLDERS_PER_PASS:
                return idle
            self._after = agent_id
            holder = self._idle_holder(view, agent_id)
            if holder is not None:
                idle.append(holder)
                if sum(len(one.leases) for one in idle) >= LOOKS_PER_PASS:
                    return idle
        self._after = 0
        return self._idle_holders(view) if began and not idle else idle

    def _idle_holder(self, view: View, agent_id: AgentId) -> _Idle | None:
        agent = view.agents.find(agent_id)
        assert agent is not None, agent_id
        if not self._staleness.is_idle(agent, view.now):
            return None
        project = view.projects.find(agent.project_id)
        assert project is not None, agent
        leases = [
            lease
            for lease in view.leases.of_agent(agent_id, limit=_MOST_OF_A_HOLDER)
            if lease.kind is LeaseKind.FILE and lease.is_live(view.now)
        ]
        if project.is_archived or not leases:
            return None
        (first,) = self._staleness.assess(view, leases[:1], {})
        is_mail_recent = Missing.MAIL_RECENT in first.judgement.missing
        return None if is_mail_recent else _Idle(project=project, agent=agent, leases=leases)

    async def _release_stale(self, holder: _Idle, seen: dict[LeaseId, WorkspaceActivity]) -> None:
        ids = list(seen)
        for start in range(0, len(ids), AT_ONCE):
            some = {lease_id: seen[lease_id] for lease_id in ids[start : start + AT_ONCE]}
            unit = partial(release_stale, staleness=self._staleness, agent_id=holder.agent.id, seen=some)
            released = await self._store.write(unit)
            self._released += len(released)
            if released:
                facts = {"agent": holder.agent.name, "project": holder.project.slug, "released": len(released)}
                logger.info("an idle holder's reservations were released", extra={"facts": facts})


def release_stale(
    tx: Tx, staleness: Staleness, agent_id: AgentId, seen: dict[LeaseId, WorkspaceActivity]
) -> list[Lease]:
    """End those of an agent's leases that are stale by `seen`, and by calls and mail as of now; tell the agent."""
    now = tx.now
    agent = tx.agents.find(agent_id)
    assert agent is not None, agent_id
    held = [lease for lease in tx.leases.find_many(list(seen)) if lease.is_live(now) and lease.agent_id == agent_id]
    stale = {one.lease.id: one for one in staleness.assess(tx, held, seen) if one.is_stale}
    evidence = {lease_id: show_evidence(one) for lease_id, one in stale.items()}
    ended = end_leases(tx, [one.lease for one in stale.values()], EndedBy.IDLE, evidence=evidence)
    lost = [stale[lease.id] for lease in ended if lease.ended_by is EndedBy.IDLE]
    if lost and not agent.is_retired:
        project = tx.projects.find(agent.project_id)
        assert project is not None, agent
        post_system_mail(tx, project, [agent], idle_notice(lost))
    return [one.lease for one in lost]

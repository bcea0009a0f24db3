"""A store, a real repository of code and a clock that moves when told: who is idle here is up to the test."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.identity.caller import AgentAuth, Caller, CallerKind
from mcp_agent_mail.domain.leases import Lease, LeaseKeys, LeaseKind, NewLease
from mcp_agent_mail.domain.messages import Importance, NewMessage, NewRecipient, RecipientKind
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.domain.staleness import StalenessRules
from mcp_agent_mail.features.identity.activity import Activity
from mcp_agent_mail.features.reservations.force_release import ForceService
from mcp_agent_mail.features.reservations.staleness import Staleness
from mcp_agent_mail.features.reservations.sweeper import Sweeper, SweepRules
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.workspace.facts import Workspaces
from tests.seeded_store import SetClock, add_agent, add_project
from tests.store_templates import blank_store
from tests.workspace.code_repository import begin, commit, write

ANYBODY = Caller(kind=CallerKind.ANONYMOUS, auth=AgentAuth.OPEN)
RULES = StalenessRules(inactivity_s=1800, grace_s=900)
START_S = 1_800_000_000
LONG = 1801.0
"""Longer than RULES lets a holder be silent."""


@dataclass
class ReservationsHarness:
    """`blue` holds what `hold` reserves; `red` wants it. `code` has `src/app.py`, written and committed long ago."""

    store: Store
    clock: SetClock
    code: Path
    project: Project
    blue: Agent
    red: Agent
    activity: Activity
    staleness: Staleness
    sweeper: Sweeper
    force: ForceService

    def seconds(self) -> int:
        return self.clock.now // SECOND

    async def hold(
        self,
        pattern: str = "src/app.py",
        *,
        agent: Agent | None = None,
        ttl_s: int = 86_400,
        kind: LeaseKind = LeaseKind.FILE,
    ) -> Lease:
        """As granted, without the checks of a grant; making the call is activity."""
        holder = agent or self.blue
        new = NewLease(
            project_id=self.project.id,
            agent_id=holder.id,
            agent=holder.name,
            kind=kind,
            path_pattern=pattern,
            keys=LeaseKeys(anchor=pattern),
            exclusive=True,
            reason="work",
            expires_ts=Micros(self.clock.now + ttl_s * SECOND),
        )
        self.activity.note(holder)
        return await self.store.write(lambda tx: tx.leases.add(new, tx.now))

    async def lease(self, lease: Lease) -> Lease:
        found = await self.store.read(lambda view: view.leases.find(lease.id))
        assert found is not None
        return found

    async def mail(self, sender: Agent, recipient: Agent) -> None:
        new = NewMessage(
            sender=sender,
            project=self.project,
            thread_id=None,
            topic=None,
            subject="Working on it",
            body_md="",
            importance=Importance.NORMAL,
            ack_required=False,
            reply_to=None,
        )
        to = NewRecipient(agent=recipient, project=self.project, kind=RecipientKind.TO)
        await self.store.write(lambda tx: tx.messages.add(new, [to], tx.now))

    async def inbox(self, agent: Agent) -> list[Any]:
        rows = await self.store.read(
            lambda view: view.messages._connection.execute(
                "SELECT m.subject, m.body_md, m.is_system FROM recipients r JOIN messages m ON m.id = r.message_id"
                " WHERE r.agent_id = ? ORDER BY m.id",
                (agent.id,),
            ).fetchall()
        )
        return list(rows)


@asynccontextmanager
async def open_reservations(
    folder: Path, *, releases_idle: bool = True, watched_s: int = 0
) -> AsyncIterator[ReservationsHarness]:
    clock = SetClock()
    code = begin(folder / "code")
    write(code, "src/app.py", at_s=START_S - 100_000)
    commit(code, at_s=START_S - 100_000)
    blank_store().lay(folder / "mail.sqlite3")
    async with Store(folder / "mail.sqlite3", clock=clock) as store, Activity(store, clock=clock) as activity:
        project = await store.write(lambda tx: add_project(tx, str(code)))
        blue = await store.write(lambda tx: add_agent(tx, project, "BlueLake"))
        red = await store.write(lambda tx: add_agent(tx, project, "RedStone"))
        spaces = Workspaces(clock=clock, keep_s=-1)
        staleness = Staleness(activity, spaces, rules=RULES, watched_since=Micros(watched_s * SECOND))
        rules = SweepRules(releases_idle=releases_idle, interval_s=86_400)
        yield ReservationsHarness(
            store=store,
            clock=clock,
            code=code,
            project=project,
            blue=blue,
            red=red,
            activity=activity,
            staleness=staleness,
            sweeper=Sweeper(store, staleness, rules=rules, clock=clock),
            force=ForceService(store, staleness, note_activity=activity.note, clock=clock),
        )

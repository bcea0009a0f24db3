"""The reservations slice over a real store, called as a server calls it: through the tables, with credentials."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp_agent_mail.core.resources import ResourceTable
from mcp_agent_mail.core.tools import Credentials, ToolTable
from mcp_agent_mail.domain.agents import Agent, AgentKind, AttachmentsPolicy, NewAgent
from mcp_agent_mail.domain.leases import EndedBy
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.domain.staleness import StalenessRules
from mcp_agent_mail.features.identity.activity import Activity
from mcp_agent_mail.features.reservations.resources import reservation_resources
from mcp_agent_mail.features.reservations.service import ReservationService
from mcp_agent_mail.features.reservations.staleness import Staleness
from mcp_agent_mail.features.reservations.tools import reservation_tools
from mcp_agent_mail.store.lease_events import end_leases
from mcp_agent_mail.store.transaction import Tx
from mcp_agent_mail.workspace.facts import Workspaces
from tests.features.messaging.harness import APP, NOBODY, Identities
from tests.seeded_store import SeededStore, add_agent, add_project, open_seeded_store


@dataclass
class Claims:
    """Agents of `tests.seeded_store` that reserve files of /code/app."""

    seeded: SeededStore
    service: ReservationService
    identities: Identities
    tools: ToolTable
    resources: ResourceTable
    root: str = APP

    async def call(self, tool: str, credentials: Credentials = NOBODY, /, **arguments: Any) -> Any:
        return await self.tools.run(tool, {"project_key": self.root, **arguments}, credentials)

    async def open_project(self) -> None:
        """`root` as a project with BlueLake and RedStone."""

        def unit(tx: Tx) -> None:
            project = add_project(tx, self.root)
            for name in ("BlueLake", "RedStone"):
                tx.agents.add(self._new_agent(project, name), tx.now)

        await self.seeded.store.write(unit)

    def _new_agent(self, project: Project, name: str) -> NewAgent:
        return NewAgent(
            project_id=project.id,
            kind=AgentKind.AGENT,
            name=name,
            program="test",
            model="test",
            task_description="",
            attachments_policy=AttachmentsPolicy.AUTO,
            token_hash=None,
        )

    async def reserve(self, agent: str, *paths: str, **arguments: Any) -> Any:
        return await self.call("file_reservation_paths", agent_name=agent, paths=list(paths), **arguments)

    async def hold(self, agent: str, *paths: str, **arguments: Any) -> Any:
        """As reserve, for what must be granted: the grant of a single path, or all of them."""
        answer = await self.reserve(agent, *paths, **arguments)
        assert answer["conflicts"] == [], answer
        return answer["granted"][0] if len(paths) == 1 else answer["granted"]

    async def release(self, agent: str, **arguments: Any) -> Any:
        return await self.call("release_file_reservations", agent_name=agent, **arguments)

    async def renew(self, agent: str, **arguments: Any) -> Any:
        return await self.call("renew_file_reservations", agent_name=agent, **arguments)

    async def check(self, agent: str, *paths: str) -> Any:
        return await self.call("check_file_reservation_conflicts", agent_name=agent, paths=list(paths))

    async def listed(self, query: str = "") -> Any:
        key = self.root.replace("/", "%2F")
        return await self.resources.read(f"resource://file_reservations/{key}{query}", NOBODY)

    def waiting(self) -> int:
        """How many calls stand in the line."""
        return len(self.service._reserver._queue)

    async def add_agents(self, count: int) -> None:
        """Agent0, Agent1, … of /code/app."""
        await self.seeded.store.write(
            lambda tx: [add_agent(tx, self.seeded.app, f"Agent{number}") for number in range(count)]
        )

    async def retire(self, agent: Agent) -> None:
        """As `deregister_agent` does it."""

        def unit(tx: Tx) -> None:
            now = tx.now
            tx.agents.set_retired(agent.id, now, now)
            end_leases(tx, tx.leases.of_agent(agent.id, limit=10), EndedBy.RETIREMENT)

        await self.seeded.store.write(unit)

    def rows(self, sql: str, *values: object) -> list[Any]:
        return self.seeded.store._reading.execute(sql, values).fetchall()


@asynccontextmanager
async def open_claims(directory: Path) -> AsyncIterator[Claims]:
    async with open_seeded_store(directory) as seeded, Activity(seeded.store, clock=seeded.clock) as activity:
        workspaces = Workspaces(clock=seeded.clock)
        staleness = Staleness(
            activity,
            workspaces,
            rules=StalenessRules(inactivity_s=1_800, grace_s=900),
            watched_since=seeded.clock.now,
        )
        service = ReservationService(
            seeded.store, workspaces, staleness, note_activity=activity.note, clock=seeded.clock
        )
        identities = Identities(seeded.store)
        yield Claims(
            seeded,
            service,
            identities,
            ToolTable(reservation_tools(service, identities.caller)),
            ResourceTable(reservation_resources(service, identities.caller)),
        )
        service.wake()

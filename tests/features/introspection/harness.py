"""What a server says of itself, over a real store and with every tool that there is; calls are noted, not made."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.core.ids import ProjectId
from mcp_agent_mail.core.resources import ResourceTable
from mcp_agent_mail.core.tools import RecordedCaller, ToolSpec
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.identity.caller import AgentAuth, Caller, CallerKind
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.introspection.locks import KnownLock
from mcp_agent_mail.features.introspection.recording import Recording
from mcp_agent_mail.features.introspection.resources import introspection_resources
from mcp_agent_mail.features.introspection.service import Directory, IntrospectionService
from mcp_agent_mail.features.introspection.usage import Usage
from mcp_agent_mail.features.projects.lookup import require_project
from tests.features.messaging.harness import NOBODY
from tests.seeded_store import SeededStore, open_seeded_store

ANYBODY = Caller(kind=CallerKind.ANONYMOUS, auth=AgentAuth.OPEN)
STRANGER = Caller(kind=CallerKind.ANONYMOUS, auth=AgentAuth.STRICT)
OPERATOR = Caller(kind=CallerKind.OPERATOR, auth=AgentAuth.STRICT)


def proven(agent: Agent) -> Caller:
    return Caller(
        kind=CallerKind.AGENT,
        auth=AgentAuth.STRICT,
        agent_id=agent.id,
        agent_name=agent.name,
        project_id=agent.project_id,
    )


@dataclass
class Watchtower:
    """`caller` is who reads the resources."""

    seeded: SeededStore
    usage: Usage
    service: IntrospectionService
    resources: ResourceTable
    caller: Caller = ANYBODY

    def note(self, tool: str, project: str | None = None, by: Agent | None = None, *, failed: bool = False) -> None:
        """A call, a second after the one before; `by` somebody who was proven."""
        self.seeded.clock.step()
        doer = RecordedCaller() if by is None else RecordedCaller(agent_name=by.name, project_id=by.project_id)
        self.usage.note(tool, 0.001, failed=failed, project=project, doer=doer)

    async def recent(self, caller: Caller = ANYBODY, **wanted: Any) -> list[str]:
        """The tools of the calls that the caller is shown."""
        given = {"agent": None, "project": None, **wanted}
        window_s = given.pop("window_s", 3_600)
        return [call.tool for call, _ in await self.service.recent(caller, window_s, **given)]

    async def read(self, uri: str) -> Any:
        return await self.resources.read(f"resource://tooling/{uri}", NOBODY)


def directory_of(seeded: SeededStore) -> Directory:
    async def find_project(key: str | ProjectId) -> Project | None:
        try:
            if isinstance(key, int):
                return await seeded.store.read(lambda view: view.projects.find(key))
            return await seeded.store.read(lambda view: require_project(view, key))
        except AgentMailError:
            return None

    async def find_agent(name: str, project: str | None) -> tuple[Agent, Project]:
        home = await seeded.store.read(lambda view: require_project(view, project or seeded.app.human_key))
        agent = await seeded.store.read(lambda view: view.agents.find_by_name(home.id, name))
        assert agent is not None
        return agent, home

    return Directory(find_project=find_project, find_agent=find_agent)


@asynccontextmanager
async def open_watchtower(folder: Path, specs: Sequence[ToolSpec]) -> AsyncIterator[Watchtower]:
    async with open_seeded_store(folder) as seeded:
        usage = Usage(clock=seeded.clock)
        store_lock = KnownLock(path=folder / "mail.sqlite3", category="store", owner_pid=os.getpid)
        service = IntrospectionService(
            Recording(usage=usage, queries=None, tool_log=None),
            tools=specs,
            directory=directory_of(seeded),
            locks=[store_lock, KnownLock(path=folder / "none", category="archive", owner_pid=lambda: None)],
            clock=seeded.clock,
        )

        async def caller() -> Caller:
            return tower.caller

        tower = Watchtower(seeded, usage, service, ResourceTable(introspection_resources(service, caller)))
        yield tower

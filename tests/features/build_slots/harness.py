"""The tools of build slots over a store, a real repository and a clock that moves when told."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp_agent_mail.core.tools import Credentials, ToolTable
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.identity.caller import AgentAuth, Caller, CallerKind
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.build_slots.service import BuildSlotService
from mcp_agent_mail.features.build_slots.tools import build_slot_tools
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.workspace.facts import Workspaces
from tests.seeded_store import SetClock, add_agent, add_project
from tests.store_templates import blank_store
from tests.workspace.code_repository import begin

ANYBODY = Caller(kind=CallerKind.ANONYMOUS, auth=AgentAuth.OPEN)


@dataclass
class BuildSlotsHarness:
    store: Store
    clock: SetClock
    project: Project
    blue: Agent
    tools: ToolTable
    active: list[str]

    async def does(self, tool: str, agent: str, slot: str = "build", **more: Any) -> Any:
        given = {"project_key": self.project.slug, "agent_name": agent, "slot": slot, **more}
        return await self.tools.run(f"{tool}_build_slot", given, Credentials(via="mcp"))

    async def told(self) -> list[dict[str, Any]]:
        """What the archive was told of slots, oldest first."""
        events = await self.store.read(lambda view: view.outbox.pending(self.project.id))
        return [event.snapshot for event in events if event.kind.value == "slot"]


async def current_caller() -> Caller:
    return ANYBODY


@asynccontextmanager
async def open_build_slots(folder: Path) -> AsyncIterator[BuildSlotsHarness]:
    clock = SetClock()
    code = begin(folder / "code")
    active: list[str] = []
    blank_store().lay(folder / "mail.sqlite3")
    async with Store(folder / "mail.sqlite3", clock=clock) as store:
        project = await store.write(lambda tx: add_project(tx, str(code)))
        blue = await store.write(lambda tx: add_agent(tx, project, "BlueLake"))
        await store.write(lambda tx: [add_agent(tx, project, name) for name in ("RedStone", "GreenField")])
        service = BuildSlotService(store, Workspaces(), note_activity=lambda agent: active.append(agent.name))
        tools = ToolTable(build_slot_tools(service, current_caller))
        yield BuildSlotsHarness(store, clock, project, blue, tools, active)

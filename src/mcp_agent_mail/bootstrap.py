"""The one place where services are made and given to each other."""

from __future__ import annotations

from dataclasses import dataclass

from mcp_agent_mail.core.clock import Clock, system_clock
from mcp_agent_mail.core.resources import ResourceTable
from mcp_agent_mail.core.settings import Settings
from mcp_agent_mail.core.tools import ToolTable
from mcp_agent_mail.features.upkeep.resources import upkeep_resources
from mcp_agent_mail.features.upkeep.service import HealthService, ServerPlace
from mcp_agent_mail.features.upkeep.tools import upkeep_tools
from mcp_agent_mail.store.database import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    upkeep: HealthService
    tools: ToolTable
    resources: ResourceTable

    def is_ready(self) -> bool:
        return True

    async def close(self, *, timeout_s: float) -> None:
        pass


def build_services(
    settings: Settings, store: Store, *, place: ServerPlace, operator_token: str, clock: Clock = system_clock
) -> Services:
    upkeep = HealthService(store, place, clock=clock, archive_works=lambda: True)
    return Services(
        upkeep=upkeep, tools=ToolTable(upkeep_tools(upkeep)), resources=ResourceTable(upkeep_resources(upkeep))
    )

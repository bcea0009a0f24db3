"""The tool of this slice: health."""

from __future__ import annotations

from mcp_agent_mail.core.tools import Json, ToolSpec, tool
from mcp_agent_mail.features.health.schemas import show_health
from mcp_agent_mail.features.health.service import HealthService


def health_tools(service: HealthService) -> list[ToolSpec]:
    """The check of health. It writes to the store, yet is declared as reading: it changes nothing that callers see."""

    async def health_check() -> Json:
        """Is the server well? Writes and reads the store now. `degraded`: mail is safe, its Git archive lags or a task
        in the background keeps failing: see `failing`.
        """
        return show_health(await service.check())

    return [
        tool(
            health_check,
            cluster="infrastructure",
            title="Check the server's health",
            read_only=True,
            idempotent=True,
        )
    ]

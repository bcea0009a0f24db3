"""The tool of this slice: health."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.core.tools import Json, ToolSpec, tool
from mcp_agent_mail.domain.identity.caller import Caller
from mcp_agent_mail.features.health.schemas import show_health
from mcp_agent_mail.features.health.service import HealthService


def health_tools(service: HealthService, current_caller: Callable[[], Awaitable[Caller]]) -> list[ToolSpec]:
    """The check of health. It writes to the store, yet is declared as reading: it changes nothing that callers see."""

    async def find_caller() -> Caller | None:
        """Whoever cannot be told of, by its tokens or by the store, learns how the server is all the same."""
        try:
            return await current_caller()
        except AgentMailError:
            return None

    async def health_check() -> Json:
        """Is the server well? Writes and reads the store now. `degraded`: mail is safe, its Git archive lags or a task
        in the background keeps failing: see `failing`.
        """
        return show_health(await service.check(), caller=await find_caller())

    return [
        tool(
            health_check,
            cluster="infrastructure",
            title="Check the server's health",
            read_only=True,
            idempotent=True,
        )
    ]

"""What the guard did, for the operator: over `/rpc` and in process."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated

from mcp_agent_mail.core.params import LIMIT, Text
from mcp_agent_mail.core.tools import Json, ToolSpec, tool
from mcp_agent_mail.domain.identity.caller import Caller
from mcp_agent_mail.features.guarding.schemas import event_value
from mcp_agent_mail.features.guarding.service import GuardingService


def guard_log_tools(service: GuardingService, current_caller: Callable[[], Awaitable[Caller]]) -> list[ToolSpec]:
    """The tool behind `am guard log`, for the operator by `/rpc` and the command line: MCP clients neither see nor run
    it.
    """

    async def list_guard_events(
        project_key: Annotated[str | None, Text(max_length=4_096)] = None,
        limit: Annotated[int, LIMIT] = 50,
    ) -> Json:
        """What the guard refused, warned about, let pass or could not check, newest first. Operator only."""
        events = await service.list_(await current_caller(), project_key, limit)
        return {"events": [event_value(event) for event in events]}

    return [
        tool(
            list_guard_events,
            cluster="infrastructure",
            title="What the guard did",
            read_only=True,
            idempotent=True,
            operator_only=True,
        )
    ]

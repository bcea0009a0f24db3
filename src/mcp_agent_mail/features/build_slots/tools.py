"""The tools of build slots. Their docstrings are what agents read to choose one: every word costs them tokens."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated

from mcp_agent_mail.core.params import CALLER_NAME, PROJECT_KEY, Duration, Flag, Matching
from mcp_agent_mail.core.tools import Json, ToolSpec, tool
from mcp_agent_mail.domain.build_slots import slot_name
from mcp_agent_mail.domain.identity.caller import Caller
from mcp_agent_mail.features.build_slots import schemas
from mcp_agent_mail.features.build_slots.results import SlotRequest
from mcp_agent_mail.features.build_slots.service import BuildSlotService

SLOT = Matching(slot_name)
TTL = Duration(2_592_000)


def build_slot_tools(service: BuildSlotService, current_caller: Callable[[], Awaitable[Caller]]) -> list[ToolSpec]:
    """To acquire, renew and release a slot. Each acts as the agent that it names, if the caller may; each is safe to
    repeat.
    """

    async def acquire_build_slot(
        project_key: Annotated[str, PROJECT_KEY],
        agent_name: Annotated[str, CALLER_NAME],
        slot: Annotated[str, SLOT],
        ttl_seconds: Annotated[int, TTL] = 3600,
        exclusive: Annotated[bool, Flag()] = True,
    ) -> Json:
        """Hold a named thing that is no file while you use it: a build, a port, a test database. granted is null
        when others hold it: see conflicts. Again while you hold it prolongs it.
        """
        request = SlotRequest(project_key=project_key, agent_name=agent_name, slot=slot)
        acquired = await service.acquire(await current_caller(), request, ttl_s=ttl_seconds, exclusive=exclusive)
        return schemas.show_acquired(acquired)

    async def renew_build_slot(
        project_key: Annotated[str, PROJECT_KEY],
        agent_name: Annotated[str, CALLER_NAME],
        slot: Annotated[str, SLOT],
        extend_seconds: Annotated[int, TTL] = 1800,
    ) -> Json:
        """Hold your slot for extend_seconds from now. renewed is false when you do not hold it any more."""
        request = SlotRequest(project_key=project_key, agent_name=agent_name, slot=slot)
        return schemas.show_renewed(await service.renew(await current_caller(), request, extend_s=extend_seconds))

    async def release_build_slot(
        project_key: Annotated[str, PROJECT_KEY],
        agent_name: Annotated[str, CALLER_NAME],
        slot: Annotated[str, SLOT],
    ) -> Json:
        """Give your slot back when you are done. released is false when you do not hold it."""
        request = SlotRequest(project_key=project_key, agent_name=agent_name, slot=slot)
        return schemas.show_released(await service.release(await current_caller(), request))

    return [
        tool(acquire_build_slot, cluster="build_slots", title="Acquire a build slot", idempotent=True),
        tool(renew_build_slot, cluster="build_slots", title="Renew a build slot", idempotent=True),
        tool(release_build_slot, cluster="build_slots", title="Release a build slot", idempotent=True),
    ]

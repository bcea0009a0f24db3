"""The tools of windows."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated

from mcp_agent_mail.core.params import AGENT_NAME, PROJECT_KEY, Matching
from mcp_agent_mail.core.tools import Json, ToolSpec, tool
from mcp_agent_mail.domain.identity.caller import Caller
from mcp_agent_mail.domain.identity.windows import parse_window_uuid
from mcp_agent_mail.features.identity import window_schemas as schemas
from mcp_agent_mail.features.identity.windows import WindowService

WINDOW = Matching(parse_window_uuid)


def window_tools(service: WindowService, current_caller: Callable[[], Awaitable[Caller]]) -> list[ToolSpec]:
    """To list, rename and forget windows: the list for callers who may read the project, the rest for who may change
    it.
    """

    async def list_window_identities(project_key: Annotated[str, PROJECT_KEY]) -> Json:
        """The live windows of a project's clients: who registers from one without a name goes by its display_name."""
        return schemas.show_windows(await service.list_(await current_caller(), project_key))

    async def rename_window(
        project_key: Annotated[str, PROJECT_KEY],
        window_uuid: Annotated[str, WINDOW],
        new_display_name: Annotated[str, AGENT_NAME],
    ) -> Json:
        """Change the name that a window gives. Agents keep theirs."""
        renamed = await service.rename(await current_caller(), project_key, window_uuid, new_display_name)
        return schemas.show_renamed(renamed)

    async def expire_window(project_key: Annotated[str, PROJECT_KEY], window_uuid: Annotated[str, WINDOW]) -> Json:
        """Forget a window; registering from it begins anew."""
        return schemas.show_expired(await service.expire(await current_caller(), project_key, window_uuid))

    return [
        tool(
            list_window_identities,
            cluster="identity",
            title="List windows",
            read_only=True,
            idempotent=True,
        ),
        tool(rename_window, cluster="identity", title="Rename a window", idempotent=True),
        tool(expire_window, cluster="identity", title="Forget a window", destructive=True, idempotent=True),
    ]

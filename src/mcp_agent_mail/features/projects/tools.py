"""The project tools."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated

from mcp_agent_mail.core.params import DIRECTORY, PROJECT_KEY, Choice
from mcp_agent_mail.core.tools import Json, ToolSpec, tool
from mcp_agent_mail.domain.identity.caller import Caller
from mcp_agent_mail.domain.project_identity import IdentityMode
from mcp_agent_mail.features.projects.schemas import show_archiving, show_ensured
from mcp_agent_mail.features.projects.service import ProjectService

_MODE = Choice(tuple(mode.value for mode in IdentityMode))


def project_tools(service: ProjectService, current_caller: Callable[[], Awaitable[Caller]]) -> list[ToolSpec]:
    """To ensure a project, to archive it and to bring it back; each is safe to repeat."""

    async def ensure_project(
        human_key: Annotated[str, DIRECTORY], identity_mode: Annotated[str | None, _MODE] = None
    ) -> Json:
        """Create the project of a directory, or return it. human_key: the absolute path of your working directory.
        Every other tool takes that path, or the slug returned, as project_key.
        """
        caller = await current_caller()
        mode = None if identity_mode is None else IdentityMode(identity_mode)
        ensured = await service.ensure_identity(caller, human_key, mode)
        return show_ensured(ensured, await service.archive_path(ensured.project))

    async def archive_project(project_key: Annotated[str, PROJECT_KEY]) -> Json:
        """Put a finished project aside: it stays readable, refuses writes and leaves the lists.
        unarchive_project undoes it.
        """
        return show_archiving(await service.set_archived(await current_caller(), project_key, archived=True))

    async def unarchive_project(project_key: Annotated[str, PROJECT_KEY]) -> Json:
        """Bring an archived project back."""
        return show_archiving(await service.set_archived(await current_caller(), project_key, archived=False))

    return [
        tool(ensure_project, cluster="infrastructure", title="Create or find a project", idempotent=True),
        tool(archive_project, cluster="infrastructure", title="Archive a project", idempotent=True),
        tool(unarchive_project, cluster="infrastructure", title="Bring a project back", idempotent=True),
    ]

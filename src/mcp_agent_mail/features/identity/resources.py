"""Agents by URI: of a project, and with the project they are in."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated

from mcp_agent_mail.core.params import PROJECT_KEY, Flag
from mcp_agent_mail.core.resources import ResourceSpec, resource
from mcp_agent_mail.core.tools import Json
from mcp_agent_mail.domain.identity.caller import Caller
from mcp_agent_mail.features.identity import schemas
from mcp_agent_mail.features.identity.service import MAX_AGENTS, IdentityService


def identity_resources(service: IdentityService, current_caller: Callable[[], Awaitable[Caller]]) -> list[ResourceSpec]:
    """A project with its agents, and its agents with their unread mail as far as the caller may know: at most
    MAX_AGENTS.
    """

    async def project(slug: Annotated[str, PROJECT_KEY]) -> Json:
        """A project, by slug or path, with its agents, last active first."""
        return schemas.show_project_with_agents(await service.list_(await current_caller(), slug, limit=MAX_AGENTS))

    async def agents(
        project_key: Annotated[str, PROJECT_KEY], include_retired: Annotated[bool, Flag()] = False
    ) -> Json:
        """A project's agents with their unread mail and who is listening, last active first."""
        listing = await service.list_(
            await current_caller(), project_key, include_retired=include_retired, limit=MAX_AGENTS
        )
        return schemas.show_agents(listing, include_retired=include_retired)

    return [
        resource(project, uri="resource://project/{slug}", name="project", title="A project and its agents"),
        resource(agents, uri="resource://agents/{project_key}{?include_retired}", name="agents", title="Agents"),
    ]

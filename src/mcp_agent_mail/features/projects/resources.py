"""The list of projects. (`project/{slug}` shows agents too: see `features/identity`.)"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from mcp_agent_mail.core.params import Count, Flag, Id
from mcp_agent_mail.core.resources import ResourceSpec, resource
from mcp_agent_mail.core.tools import Json
from mcp_agent_mail.domain.caller import Caller
from mcp_agent_mail.features.projects.schemas import show_project
from mcp_agent_mail.features.projects.service import ProjectService


def project_resources(service: ProjectService, current_caller: Callable[[], Caller]) -> list[ResourceSpec]:
    async def projects(
        include_archived: Annotated[bool, Flag()] = False,
        limit: Annotated[int, Count(1, 1_000)] = 200,
        after_id: Annotated[int, Id(low=0)] = 0,
    ) -> Json:
        """All projects, oldest first; archived ones with include_archived=true."""
        current_caller()
        listed = service.list_(include_archived=include_archived, limit=limit, after_id=after_id)
        return [show_project(project) for project in listed]

    return [
        resource(
            projects,
            uri="resource://projects{?include_archived,limit,after_id}",
            name="projects",
            title="Projects",
            list_result=True,
        )
    ]

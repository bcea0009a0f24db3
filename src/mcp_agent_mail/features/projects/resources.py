"""The list of projects. (`project/{slug}` shows agents too: see `features/identity`.)"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated

from mcp_agent_mail.core.params import LIMIT, PROJECT_KEY, Flag, Id
from mcp_agent_mail.core.resources import ResourceSpec, resource
from mcp_agent_mail.core.tools import Json
from mcp_agent_mail.domain.identity.caller import Caller, require_proof
from mcp_agent_mail.features.projects.schemas import show_identity
from mcp_agent_mail.features.projects.service import ProjectService
from mcp_agent_mail.features.projects.shapes import show_project


def project_resources(service: ProjectService, current_caller: Callable[[], Awaitable[Caller]]) -> list[ResourceSpec]:
    """The identity of a directory, which asks Git and so needs proof of who calls, and the list of projects, for any
    caller.
    """

    async def projects(
        include_archived: Annotated[bool, Flag()] = False,
        limit: Annotated[int, LIMIT] = 200,
        after_id: Annotated[int, Id(low=0)] = 0,
    ) -> Json:
        """All projects, oldest first; archived ones with include_archived=true."""
        await current_caller()
        listed = await service.list_(include_archived=include_archived, limit=limit, after_id=after_id)
        return [show_project(project) for project in listed]

    async def identity(project: Annotated[str, PROJECT_KEY]) -> Json:
        """What says which project a directory is: repository, remote, marks, uid, other names. Writes nothing."""
        require_proof(await current_caller(), "Asking Git about a directory")
        return show_identity(await service.identity(project))

    return [
        resource(identity, uri="resource://identity/{project}", name="identity", title="Identity of a directory"),
        resource(
            projects,
            uri="resource://projects{?include_archived,limit,after_id}",
            name="projects",
            title="Projects",
            list_result=True,
        ),
    ]

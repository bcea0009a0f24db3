"""Where a refused page leads: to the projects and agents that were probably meant, and to where all of them are."""

from __future__ import annotations

from collections.abc import Sequence

from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.domain.identity.names import UnknownAgent
from mcp_agent_mail.domain.projects import Project, UnknownProject
from mcp_agent_mail.features.projects.lookup import AmbiguousProject
from mcp_agent_mail.web.addresses import HOME, agent_url, project_url
from mcp_agent_mail.web.context import PageContext

MOST_MEANT = 5

MeantLink = tuple[str, str]
"""An address, and what its link says."""


async def meant_links(page: PageContext, refused: AgentMailError) -> Sequence[MeantLink]:
    """Empty where the refusal is about something else."""
    if isinstance(refused, UnknownAgent):
        return await _agents(page, refused)
    if isinstance(refused, AmbiguousProject):
        return [(project_url(slug), slug) for slug in refused.data["projects"]]
    if isinstance(refused, UnknownProject):
        near = [await page.services.pages.oversight.project(str(key)) for key in _near(refused)]
        return [*((project_url(one.slug), one.name) for one in near), (f"{HOME}/projects", "Projects")]
    return []


async def _agents(page: PageContext, refused: AgentMailError) -> list[MeantLink]:
    home = await _home(page, refused)
    if home is None:
        return []
    near = [(agent_url(home.slug, str(name)), str(name)) for name in _near(refused) if "@" not in str(name)]
    return [*near, (project_url(home.slug, "agents"), f"Agents of {home.name}")]


async def _home(page: PageContext, refused: AgentMailError) -> Project | None:
    key = refused.data.get("project") or page.keys.get("project")
    return None if key is None else await page.services.pages.oversight.project(str(key))


def _near(refused: AgentMailError) -> Sequence[object]:
    near = refused.data.get("nearest")
    return near[:MOST_MEANT] if isinstance(near, list) else []

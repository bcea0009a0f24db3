"""What a person means by the names in a filter: a project by whatever it is called, agents by their names."""

from __future__ import annotations

from collections.abc import Sequence

from mcp_agent_mail.core.errors import listed
from mcp_agent_mail.core.ids import AgentId, ProjectId, read_number
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.identity.names import did_you_mean
from mcp_agent_mail.domain.projects import Project, UnknownProject
from mcp_agent_mail.features.identity.lookup import names_everywhere
from mcp_agent_mail.features.projects.lookup import AmbiguousProject, require_called
from mcp_agent_mail.store.transaction import View

MOST_NAMED = 50
"""Agents of one name, over all projects."""


def numbered_project(view: View, key: str) -> Project:
    """By its slug, a former one, its path, its number, or the name that people see while one project alone has it.
    Raises UnknownProject, AmbiguousProject.
    """
    return _find_by_number(view, key) or require_called(view, key)


def meant_project(view: View, key: str) -> Project:
    """As `numbered_project`, for a filter."""
    try:
        return numbered_project(view, key)
    except AmbiguousProject as several:
        which = listed([f"project:{slug}" for slug in several.data["projects"]])
        raise several.reworded(hint=f"Write which: {which}.", data=several.data) from None


def agents_meant(view: View, text: str) -> list[Agent]:
    """The agents of this name in all projects; as `Name@project`, the one that is called so there. Raises
    AmbiguousProject.
    """
    name, sign, key = text.partition("@")
    if not sign:
        return view.agents.find_everywhere(name, MOST_NAMED)
    try:
        found = view.agents.find_by_name(meant_project(view, key).id, name.strip())
    except UnknownProject:
        return []
    return [] if found is None else [found]


def agents_named(view: View, text: str) -> list[AgentId]:
    """Their numbers."""
    return [agent.id for agent in agents_meant(view, text)]


def unknown_agents(view: View, names: Sequence[str]) -> str:
    """A sentence of those that no agent has; empty where each is somebody's."""
    unknown = [name for name in names if not agents_meant(view, name)]
    near = {name: names_everywhere(view, name.partition("@")[0]) for name in unknown}
    return " ".join(f"There is no agent {name:.100}. {did_you_mean(near[name])}".strip() for name in unknown)


def _find_by_number(view: View, key: str) -> Project | None:
    number = read_number(key.strip())
    return None if number is None else view.projects.find(ProjectId(number))

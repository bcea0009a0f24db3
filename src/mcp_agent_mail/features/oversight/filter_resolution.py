"""What a person means by the names in a filter: a project by whatever it is called, agents by their names."""

from __future__ import annotations

from collections.abc import Sequence

from mcp_agent_mail.core.errors import Conflict, listed
from mcp_agent_mail.core.ids import AgentId, ProjectId, read_number
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.identity.names import did_you_mean
from mcp_agent_mail.domain.projects import Project, UnknownProject
from mcp_agent_mail.features.identity.lookup import names_everywhere
from mcp_agent_mail.features.projects.lookup import find_project, require_project
from mcp_agent_mail.store.transaction import View

MOST_NAMED = 50
"""Agents of one name, over all projects."""
_LOOKED_AT = 1_000
"""So many of the newest projects are looked at for one of a name."""
_SHOWN = 5


class AmbiguousProject(Conflict):
    """Several projects are called so."""


def numbered_project(view: View, key: str) -> Project:
    """By its slug, a former one, its path, or its number. Raises UnknownProject."""
    try:
        return require_project(view, key)
    except UnknownProject:
        if (found := _find_by_number(view, key)) is None:
            raise
        return found


def meant_project(view: View, key: str) -> Project:
    """As `numbered_project`; also by the name that people see, while one project alone has it. Raises UnknownProject,
    AmbiguousProject.
    """
    found = find_project(view, key) or _find_by_number(view, key)
    if found is not None:
        return found
    name = key.strip().casefold()
    called = [one for one in view.projects.newest(_LOOKED_AT, include_archived=True) if one.name.casefold() == name]
    if not called:
        called = view.projects.find_by_plain_slug(name, limit=_SHOWN + 1)
    if len(called) > 1:
        slugs = [one.slug for one in called]
        raise AmbiguousProject(
            f"{len(slugs)} projects are called {key.strip():.100}.",
            hint=f"Write which: {listed([f'project:{one}' for one in slugs[:_SHOWN]])}.",
            data={"projects": slugs[:_SHOWN]},
        )
    return called[0] if called else require_project(view, key)


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

"""From a name to the agent of a project."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

from mcp_agent_mail.core.errors import Conflict, listed
from mcp_agent_mail.core.ids import ProjectId
from mcp_agent_mail.domain.agents import Agent, AgentKind
from mcp_agent_mail.domain.identity.names import KnownNames, UnknownAgent, did_you_mean, mistaken_for, name_key, nearest
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.identity.door_callers import is_mailbox, is_unspoken
from mcp_agent_mail.store.transaction import View

_PRESENT = 10
_LOOKED_AT = 100
"""For those that are present: the agents that were active last."""
_ELSEWHERE = 3
_HOMES = 3
_NO_PROJECT = ProjectId(0)


class AmbiguousName(Conflict):
    """A mailbox was renamed at its door, and another one has the name there now; natively it is still the first's."""


def find_agent(view: View, project_id: ProjectId, name: str) -> Agent | None:
    """The agent of this name, ignoring letter case and outer blanks; a name that no agent has is that of the one
    that doors know by it, or that came in under it. Raises AmbiguousName.
    """
    agent = view.agents.find_by_name(project_id, name)
    if agent is not None and not is_mailbox(agent):
        return agent
    known = view.wire_names.find(project_id, name)
    called = None if known is None else view.agents.find(known.agent_id)
    if agent is None or known is None or called is None or called.id == agent.id or known.owner is None:
        return called if agent is None else agent
    own = next((one.name for one in view.wire_names.of_agent(agent.id) if one.owner is not None), agent.name)
    raise AmbiguousName(
        f"{known.name!r:.100} is two: {called.name} is called so at {known.owner.value}, and {own} was before.",
        hint=f"Say which: {called.name} or {own}.",
        data={"name": known.name, "names": [called.name, own]},
    )


def find_everywhere(view: View, name: str) -> list[Agent]:
    """Who goes by this name in the projects that are not archived, natively or, where nobody does, at doors. Which of
    two in one project is asked by `find_agent`.
    """
    known = () if (native := view.agents.find_everywhere(name)) else view.wire_names.find_everywhere(name)
    return [*native, *(agent for agent_id in known if (agent := view.agents.find(agent_id)) is not None)]


def is_left_name(view: View, agent: Agent, name: str) -> bool:
    """A rename at a door has left it: mail still goes to the mailbox, but it is whoever's next speaks as it."""
    if name_key(name) == name_key(agent.name):  # No name at a door: nearly every call, and none of the store's time.
        return False
    known = view.wire_names.find(agent.project_id, name)
    if known is None or known.owner is not None or known.linked:
        return False
    return any(one.owner is not None for one in view.wire_names.of_agent(agent.id))


def name_that_leads(view: View, agent: Agent) -> str:
    """One that `find_agent` finds it by: its own, unless a mailbox has left that and another has it now."""

    def leads(name: str) -> bool:
        try:
            found = find_agent(view, agent.project_id, name)
        except AmbiguousName:
            return False
        return found is not None and found.id == agent.id

    names = (agent.name, *(one.name for one in view.wire_names.of_agent(agent.id)))
    return agent.name if not is_mailbox(agent) else next(filter(leads, names), agent.name)


def find_current(view: View, project_id: ProjectId, name: str) -> Agent | None:
    """As `find_agent`, but for a name that a rename has left: it is whoever's next takes it."""
    agent = find_agent(view, project_id, name)
    return None if agent is None or is_left_name(view, agent, name) else agent


def require_agent(view: View, project: Project, name: str) -> Agent:
    """As `find_agent`; `Human`, `System` and retired ones too. Raises UnknownAgent with the names that are near, else
    with some of those that are there.
    """
    agent = find_agent(view, project.id, name)
    if agent is None:
        known = known_names(view, project.id)
        close = known.nearest(name)
        homes = [] if close else _homes(view, name)
        present = [] if close or homes else present_names(view, project)
        raise UnknownAgent(
            f"No agent named {name.strip()!r:.100} in {project.human_key}.",
            hint=_at_home(name, homes)
            or f"{did_you_mean(known.told(close)) or told_present(present)}{_otherwise(close, present)}",
            data={
                "parameter": "agent_name",
                "project": project.human_key,
                "nearest": close,
                **({"present": present} if present else {}),
                **({"projects": homes} if homes else {}),
            },
            refused=name,
        )
    return agent


def known_names(view: View, *project_ids: ProjectId) -> KnownNames:
    """Those of agents in the projects that whoever mistakes a name may mean."""
    return KnownNames(
        [name for project_id in project_ids for name in view.agents.names(project_id)],
        [name for project_id in project_ids for name in view.agents.names(project_id, is_retired=True)],
    )


def likely_agents(found: Iterable[Agent]) -> list[Agent]:
    """Of several of one name those that may be meant: retired ones only where there are no others."""
    likely = [agent for agent in found if agent.may_be_meant]
    return [agent for agent in likely if not agent.is_retired] or likely


def somebodys(view: View, found: Iterable[Agent]) -> list[Agent]:
    """Nobody means a mailbox that a misspelt name has made."""
    return [agent for agent in found if not is_unspoken(view, agent)]


def _homes(view: View, name: str) -> list[str]:
    """The projects that have an agent of this very name."""
    everywhere = likely_agents(find_everywhere(view, name))
    found = [agent for agent in everywhere if agent.kind is AgentKind.AGENT][:_HOMES]
    projects = [view.projects.find(agent.project_id) for agent in found]
    return [project.human_key for project in projects if project is not None]


def _at_home(name: str, homes: Sequence[str]) -> str:
    return f"{name.strip():.100} is an agent of {listed(homes, 'and')}: give that as the project." if homes else ""


def _otherwise(close: Sequence[str], present: Sequence[str]) -> str:
    hint = "It has no agents: register_agent adds one."
    if close:
        hint = "register_agent adds one."
    elif has_more(present):
        hint = "list_agents names those that exist, register_agent adds one."
    elif present:
        hint = "register_agent adds one."
    return hint


def near_elsewhere(view: View, home: Project, name: str) -> list[str]:
    """Addresses of at most three agents of other projects: see `agents_elsewhere`."""
    return [f"{one.name}@{project.slug}" for one, project in agents_elsewhere(view, home, name)[:_ELSEWHERE]]


def agents_elsewhere(view: View, home: Project, name: str) -> list[tuple[Agent, Project]]:
    """Agents of other projects that may be meant: those of this name, else those of the newest that are spelt nearly
    so.
    """
    everywhere = somebodys(view, find_everywhere(view, name))
    found = [one for one in likely_agents(everywhere) if one.kind is AgentKind.AGENT]
    if not found:
        newest = somebodys(view, view.agents.newest_elsewhere(home.id))
        like = mistaken_for(name, [one.name for one in newest])
        found = [one for one in newest if one.name == like]
    homes = [(one, view.projects.find(one.project_id)) for one in found if one.project_id != home.id]
    return [(one, project) for one, project in homes if project is not None]


def names_everywhere(view: View, name: str) -> list[str]:
    """At most three names that are near, of the newest agents of all projects."""
    return nearest(name, dict.fromkeys(one.name for one in view.agents.newest_elsewhere(_NO_PROJECT)))


def has_more(present: Sequence[str]) -> bool:
    """Whether there may be others than those that `present_names` gave."""
    return len(present) >= _PRESENT


def present_names(view: View, project: Project) -> list[str]:
    """At most ten agents of the project that are not retired, last active first: who may be meant where no name is
    near. Whoever comes may know them. A mailbox that nobody has spoken as was never active.
    """
    newest = (one for one in view.agents.list_(project.id, limit=_LOOKED_AT) if one.may_be_meant)
    return [one.name for one in islice((one for one in newest if not is_unspoken(view, one)), _PRESENT)]


def told_present(names: Sequence[str]) -> str:
    """A sentence of a hint, or nothing."""
    which = f"The {_PRESENT} last active are" if len(names) == _PRESENT else "There" + (" are" if names[1:] else " is")
    return f"{which} {listed(names, 'and')}. " if names else ""

"""Who a use case acts for: an agent in its project, and whether the caller has proven to be it."""

from __future__ import annotations

import shlex

from mcp_agent_mail.core.errors import Conflict
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.identity.caller import Caller, require_to_act
from mcp_agent_mail.domain.identity.names import UnknownAgent
from mcp_agent_mail.domain.projects import Project, canonical_path, is_path
from mcp_agent_mail.features.identity.door_callers import is_mailbox
from mcp_agent_mail.features.identity.lookup import is_left_name, name_that_leads, require_agent
from mcp_agent_mail.features.projects.lookup import require_project, require_writable
from mcp_agent_mail.store.transaction import View


class AgentRetired(Conflict):
    """A retired agent neither sends, nor holds, nor asks, nor answers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """An agent in its project, as a party of a use case: who acts, and also who is asked.

    `verified`: a token of this call has proven the agent, or the operator or the server itself acts for it.
    """

    agent: Agent
    project: Project
    verified: bool = False


def require_actor(view: View, caller: Caller, project_key: str, agent_name: str) -> Actor:
    """The agent named, which `caller` may act as. Raises when there is none, and when the caller may not."""
    project, agent = _find_at_once(view, project_key, agent_name) or _require(view, project_key, agent_name)
    return _acting(view, caller, project, agent, agent_name)


def require_actor_in(view: View, caller: Caller, project: Project, agent_name: str) -> Actor:
    """As `require_actor`, in that project."""
    return _acting(view, caller, project, require_agent(view, project, agent_name), agent_name)


def _find_at_once(view: View, project_key: str, agent_name: str) -> tuple[Project, Agent] | None:
    """Both in one look, as nearly every call names them: by a path that is a project's own, and a native agent's name.
    None asks for the looks that know the other ways.
    """
    wanted = project_key.strip()
    found = view.agents.find_by_name_at(canonical_path(wanted), agent_name) if is_path(wanted) else None
    return None if found is None or is_mailbox(found[1]) else found


def _require(view: View, project_key: str, agent_name: str) -> tuple[Project, Agent]:
    project = require_project(view, project_key)
    return project, require_agent(view, project, agent_name)


def _acting(view: View, caller: Caller, project: Project, agent: Agent, agent_name: str) -> Actor:
    verified = require_to_act(caller, agent)
    if not verified:
        require_not_left(view, agent, agent_name)
    return Actor(agent=agent, project=project, verified=verified)


def require_not_left(view: View, agent: Agent, name: str) -> None:
    """For who has not proven to be the agent: raise where a rename has left the name by which it was found."""
    if is_left_name(view, agent, name):
        raise UnknownAgent(
            f"{name.strip()!r:.100} is a former name of {agent.name}.",
            hint=f"Act as {agent.name} if you are it, else register_agent adds one.",
            data={"parameter": "agent_name", "nearest": [agent.name]},
            refused=name,
        )


def require_not_put_away(view: View, agent: Agent, project: Project) -> None:
    """Raise AgentRetired where the operator has retired it: then it does not come back by being spoken of, or as."""
    if agent.retired_by_operator:
        name = name_that_leads(view, agent)
        command = shlex.join(["am", "agents", "unretire", name, "--project", project.slug])
        raise AgentRetired(
            f"{name} was retired by the operator.",
            hint=f"The operator brings it back: {command}",
            data={"agent": name, "project": project.human_key},
        )


def require_able(actor: Actor, denied: str) -> None:
    """Raise unless the actor may act: for an archived project, and AgentRetired, which says what is `denied` ("it sends
    no mail").
    """
    require_writable(actor.project)
    if actor.agent.is_retired:
        raise AgentRetired(
            f"{actor.agent.name} is retired: {denied}.",
            hint="Bring it back with unretire_agent, or act as another agent.",
            data={"agent": actor.agent.name, "project": actor.project.human_key},
        )

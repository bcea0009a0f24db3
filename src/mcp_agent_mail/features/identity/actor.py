"""Who acts in a call: an agent in its project, and whether that was proven."""

from __future__ import annotations

from dataclasses import dataclass

from mcp_agent_mail.core.errors import Conflict
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.identity.caller import Caller, require_to_act
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.identity.lookup import require_agent
from mcp_agent_mail.features.projects.lookup import require_project, require_writable
from mcp_agent_mail.store.transaction import View


class ActorRetired(Conflict):
    """A retired agent neither sends nor holds nor answers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """An agent in its project: who sends, holds, reads its mail, or stands at one side of a link.

    `verified`: the caller proved to be it, or is the operator. It is False for who is only spoken of.
    """

    agent: Agent
    project: Project
    verified: bool = False


def require_actor(view: View, caller: Caller, project_key: str, agent_name: str) -> Actor:
    """The agent that `caller` acts as. Raises NotFound for an unknown one, PermissionDenied for another's."""
    project = require_project(view, project_key)
    agent = require_agent(view, project, agent_name)
    return Actor(agent=agent, project=project, verified=require_to_act(caller, agent))


def require_active(actor: Actor, otherwise: str) -> None:
    """Raises ActorRetired, or Conflict for an archived project. `otherwise` completes "X is retired: it …"."""
    require_writable(actor.project)
    if actor.agent.is_retired:
        raise ActorRetired(
            f"{actor.agent.name} is retired: it {otherwise}.",
            hint="Bring it back with unretire_agent, or act as another agent.",
            data={"agent": actor.agent.name, "project": actor.project.human_key},
        )

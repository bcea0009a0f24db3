"""Whom a door's callers are told of: under `strict` an agent of this server is to them a name that nobody has, unless
the operator has linked it with the door.
"""

from __future__ import annotations

from collections.abc import Callable

from mcp_agent_mail.domain.agents import Agent, AgentKind
from mcp_agent_mail.domain.doors.names import Door
from mcp_agent_mail.domain.identity.caller import AgentAuth
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.store.transaction import View

Tells = Callable[[Agent], bool]


def tells_who_looks(view: View, door: Door, auth: AgentAuth) -> Tells:
    """Of whom a look tells anything: that there is such a name, how much waits, what it has said of itself."""

    def tells(agent: Agent) -> bool:
        return auth is not AgentAuth.STRICT or bool(view.mailboxes.told_of(agent.project_id, door, agent.id))

    return tells


def tells_who_sends(view: View, door: Door, auth: AgentAuth, sender: Agent) -> Tells:
    """Whom a sender is told that there is by being let write to it: also Human, who is everywhere, and whoever has
    written to the sender.
    """
    tells = tells_who_looks(view, door, auth)

    def may_write(agent: Agent) -> bool:
        is_known = agent.kind is not AgentKind.AGENT or tells(agent)
        return is_known or view.mailboxes.has_mail_from(sender.id, agent.id)

    return may_write


def listed(view: View, project: Project, door: Door, auth: AgentAuth, agents: list[Agent]) -> list[Agent]:
    """Those that a list shows."""
    if auth is not AgentAuth.STRICT:
        return agents
    told = view.mailboxes.told_of(project.id, door)
    return [agent for agent in agents if agent.id in told]

"""From a name to the agent of a project."""

from __future__ import annotations

from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.identity.names import UnknownAgent, did_you_mean, nearest
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.store.transaction import View


def require_agent(view: View, project: Project, name: str) -> Agent:
    """The agent of this name, ignoring letter case and outer blanks; `Human`, `System` and retired ones too."""
    agent = view.agents.find_by_name(project.id, name)
    if agent is None:
        close = nearest(name, view.agents.names(project.id))
        raise UnknownAgent(
            f"No agent named {name.strip()!r:.100} in {project.human_key}.",
            hint=f"{did_you_mean(close)}list_agents names those that exist, register_agent adds one.",
            data={"parameter": "agent_name", "project": project.human_key, "nearest": close},
        )
    return agent

"""Names in JWTs beside the agents that there are."""

from __future__ import annotations

from mcp_agent_mail.core.ids import ProjectId
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.identity.claimed_names import ClaimedName
from mcp_agent_mail.domain.identity.token_agents import TokenAgents
from mcp_agent_mail.features.projects.lookup import find_project
from mcp_agent_mail.store.transaction import View


def is_named(view: View, claimed: ClaimedName, agent: Agent) -> bool:
    """`Name@project` names the one of that project; a bare name the one agent that has it."""
    if not _may_mean(view, claimed, agent):
        return False
    return claimed.project_key is not None or len(view.agents.find_everywhere(agent.name)) == 1


def may_act_beside(view: View, token_agents: TokenAgents, agent: Agent) -> bool:
    """Whether the agent's own token counts on a connection that those opened: as one of them, or as one whom a bare
    name of theirs may mean.
    """
    if token_agents.issued_to is not None:
        return token_agents.issued_to == agent.id
    return any(_may_mean(view, ClaimedName.parse(text), agent) for text in token_agents.names)


def is_in_project(view: View, claimed: ClaimedName, project_id: ProjectId) -> bool:
    """Whether the project that it names is this one; a bare name names none."""
    project = None if claimed.project_key is None else find_project(view, claimed.project_key)
    return project is not None and project.id == project_id


def _may_mean(view: View, claimed: ClaimedName, agent: Agent) -> bool:
    is_bare = claimed.project_key is None
    return claimed.is_name_of(agent.name) and (is_bare or is_in_project(view, claimed, agent.project_id))

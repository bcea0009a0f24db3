"""Whom a bare name means that nobody has at home: who has written to the speaker under it from another project."""

from __future__ import annotations

from mcp_agent_mail.core.errors import listed
from mcp_agent_mail.core.ids import AgentId
from mcp_agent_mail.domain.addresses import shown_name
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.doors.names import AmbiguousCorrespondent
from mcp_agent_mail.store.transaction import View

_MAX_SAME = 5


def find_correspondent(view: View, speaker: Agent, name: str) -> Agent | None:
    """The only one of that name; None where there is none. Raises AmbiguousCorrespondent for several."""
    found = view.wire_names.correspondents(speaker.id, speaker.project_id, name, limit=_MAX_SAME)
    if len(found) > 1:
        shown = [_shown(view, one, speaker) for one in found]
        raise AmbiguousCorrespondent(
            f"{name!r:.100} can be any of {len(shown)} agents that have written to you: {listed(shown, 'or')}.",
            hint="Nothing was sent. Say which, with its project.",
            data={"name": name[:100], "names": shown},
        )
    return _require(view, found[0]) if found else None


def _require(view: View, agent_id: AgentId) -> Agent:
    agent = view.agents.find(agent_id)
    assert agent is not None, agent_id
    return agent


def _shown(view: View, agent_id: AgentId, speaker: Agent) -> str:
    agent = _require(view, agent_id)
    project = view.projects.find(agent.project_id)
    assert project is not None, agent
    return shown_name(agent.name, project.id, project.slug, speaker.project_id)

"""Whom a name means that nobody has at home: who has written to the speaker under it from another project; and who
may be meant by `Name@project` where there is no such project.
"""

from __future__ import annotations

from mcp_agent_mail.core.errors import listed
from mcp_agent_mail.core.ids import AgentId
from mcp_agent_mail.domain.addresses import shown_name
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.doors.names import AmbiguousCorrespondent
from mcp_agent_mail.domain.identity.names import did_you_mean
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.doors.told_names import Tells
from mcp_agent_mail.features.identity.lookup import agents_elsewhere
from mcp_agent_mail.store.transaction import View

_MAX_SAME = 5
_MAX_NEAR = 3


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


def told_full_names(view: View, home: Project, name: str, at_home: Agent | None, tells: Tells) -> str:
    """The next step of who wrote a name with an `@` that names no project: who may be meant, as far as the speaker is
    told of them, those first whose project is called nearly so.
    """
    plain, _, key = name.partition("@")
    found = [(one, project) for one, project in agents_elsewhere(view, home, plain) if plain and tells(one)]
    wanted = key.strip("/").lower().rpartition("/")[2]
    found.sort(key=lambda one: wanted not in one[1].slug)
    full = [f"{one.name}@{project.slug}" for one, project in found]
    near = [*([] if at_home is None or not tells(at_home) else [at_home.name]), *full][:_MAX_NEAR]
    where = "" if near else "An agent of another project is Name@ its path or slug. "
    return f"{did_you_mean(near)}{where}Nothing was sent."


def _require(view: View, agent_id: AgentId) -> Agent:
    agent = view.agents.find(agent_id)
    assert agent is not None, agent_id
    return agent


def _shown(view: View, agent_id: AgentId, speaker: Agent) -> str:
    agent = _require(view, agent_id)
    project = view.projects.find(agent.project_id)
    assert project is not None, agent
    return shown_name(agent.name, project.id, project.slug, speaker.project_id)

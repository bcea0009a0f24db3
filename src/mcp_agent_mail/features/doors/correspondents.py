"""Whom a name may mean that nobody has at home: who has written to the speaker under it from another project; and who
may be meant by `Name@project` where there is no such project.
"""

from __future__ import annotations

from mcp_agent_mail.core.errors import listed
from mcp_agent_mail.core.ids import ProjectId
from mcp_agent_mail.domain.addresses import shown_name
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.doors.names import AmbiguousCorrespondent
from mcp_agent_mail.domain.identity.names import did_you_mean
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.doors.told_names import Tells
from mcp_agent_mail.features.identity.door_callers import is_unspoken
from mcp_agent_mail.features.identity.lookup import agents_elsewhere
from mcp_agent_mail.store.transaction import View

_MAX_SAME = 5
_MAX_NEAR = 3


def full_name(view: View, agent: Agent, seen_from: ProjectId) -> str:
    """What doors show of an agent of another project, and find it by: its name at doors where one owns that, since the
    native one of a mailbox that was renamed is free for others.
    """
    own = next((one.name for one in view.wire_names.of_agent(agent.id) if one.owner is not None), None)
    project = view.projects.find(agent.project_id)
    assert project is not None, agent
    return shown_name(own if own is not None and "@" not in own else agent.name, project.id, project.slug, seen_from)


def require_no_correspondent(view: View, speaker: Agent, home: Project, name: str) -> None:
    """Whoever reaches a door makes itself a correspondent of anybody by one message, so that nothing is sent to one by
    its bare name, nor past it to a mailbox that nobody has. Raises AmbiguousCorrespondent, with the full names of all.
    """
    found = view.wire_names.correspondents(speaker.id, speaker.project_id, name, limit=_MAX_SAME)
    if found:
        agents = (view.agents.find(one) for one in found)
        shown = [full_name(view, one, home.id) for one in agents if one is not None]
        shown.append(f"{name:.100}@{home.slug}")
        raise AmbiguousCorrespondent(
            f"{name!r:.100} may be any of {len(shown)}: {listed(shown, 'or')}.",
            hint="Nothing was sent. Say which, with its project.",
            data={"name": name[:100], "names": shown},
        )


def told_full_names(view: View, home: Project, name: str, at_home: Agent | None, tells: Tells) -> str:
    """The next step of who wrote a name with an `@` that names no project: who may be meant, as far as the speaker is
    told of them, those first whose project is called nearly so.
    """
    plain, _, key = name.partition("@")
    found = [(one, project) for one, project in agents_elsewhere(view, home, plain) if plain and tells(one)]
    wanted = key.strip("/").lower().rpartition("/")[2]
    found.sort(key=lambda one: wanted not in one[1].slug)
    full = [full_name(view, one, home.id) for one, _ in found]
    is_meant = at_home is not None and tells(at_home) and not is_unspoken(view, at_home)
    near = [*([full_name(view, at_home, home.id)] if at_home is not None and is_meant else []), *full][:_MAX_NEAR]
    where = "" if near else "An agent of another project is Name@ its path or slug. "
    return f"{did_you_mean(near)}{where}Nothing was sent."

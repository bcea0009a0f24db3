"""For whom a door speaks. What a door's caller is called proves nothing: a path and a header are anybody's to write."""

from __future__ import annotations

from collections.abc import Iterable

from mcp_agent_mail.core.errors import InvalidInput
from mcp_agent_mail.core.ids import AgentId
from mcp_agent_mail.core.tools import Credentials, find_credentials
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.doors.names import Door, OtherWay, WireName, require_to_speak, second_name
from mcp_agent_mail.domain.identity.caller import AgentAuth, Caller, CallerKind, WrongToken
from mcp_agent_mail.domain.identity.names import has_names_form
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.projects.lookup import find_project
from mcp_agent_mail.store.transaction import View

_MADE_BY_DOORS = frozenset(Door)
"""The programs of agents that doors have made, for whoever comes by them."""


class DoorsProgram(InvalidInput):
    """A program that says of an agent that a door has made it."""


def require_own_program(program: str) -> None:
    """No agent says so of itself: who may speak as it, and how many mailboxes there are, goes by it. Raises
    DoorsProgram.
    """
    if program in _MADE_BY_DOORS:
        raise DoorsProgram(
            f"{program} is the program of mailboxes that its door makes.",
            hint="Say what your own is: claude-code, codex, gemini-cli, …",
            data={"parameter": "program"},
        )


def is_mailbox(agent: Agent) -> bool:
    """Whether a door has made it: no native agent has taken it."""
    return agent.program in _MADE_BY_DOORS


def is_unspoken(view: View, agent: Agent) -> bool:
    """Whether it is a mailbox that a door made for mail, and nobody has: nobody has spoken as it, no door and no token
    owns it, the operator has linked it with none, and nobody has acted as it natively.
    """
    if not is_mailbox(agent) or agent.last_active_ts > agent.inception_ts or view.agents.has_token(agent.id):
        return False
    return not any(one.owner is not None or one.linked for one in view.wire_names.of_agent(agent.id))


def resolve_door_caller(view: View, door: Door, known: WireName, agent: Agent, auth: AgentAuth) -> tuple[Caller, bool]:
    """The caller, who may act as this agent and is proven by nothing; and whether the name is the door's own by that
    from now on. A mailbox is one door's by whichever of its names. Raises NameOwnedElsewhere and DoorNotLinked.
    """
    require_unbound(view, agent)
    called = known
    is_somebodys = known.owner is not None or door in known.linked  # Then a token decides nothing.
    if not is_somebodys:
        known = next((one for one in view.wire_names.of_agent(agent.id) if one.owner is not None), known)
    is_unspoken = known.owner is None and is_mailbox(agent) and not view.agents.has_token(agent.id)
    becomes_own = require_to_speak(
        door, known, is_unspoken=is_unspoken, auth=auth, other_way=lambda: _other_way(view, door, called)
    )
    caller = Caller(
        kind=CallerKind.DOOR, auth=auth, agent_id=agent.id, agent_name=agent.name, project_id=agent.project_id
    )
    return caller, becomes_own


def require_unbound(view: View, agent: Agent) -> None:
    """A token that was issued to an agent, or a JWT that names agents, lets nobody speak as another one, nor name it
    anew. Raises WrongToken.
    """
    credentials = _confined()
    if credentials is not None and not _is_for(view, credentials, agent):
        raise WrongToken(
            f"The token given is another agent's than {agent.name}'s.",
            hint="Speak as that agent, or come with a token that is no agent's.",
        )


def require_own_project(view: View, project: Project | None, key: str, *, comes: bool) -> None:
    """Such a token asks nothing of another project than its agents', also where no agent is named: neither to look nor
    to tidy up. `project` is that of `key`, None where there is none yet; who `comes` is made known there by this call.
    Raises WrongToken, which does not tell whether there is one.
    """
    credentials = _confined()
    if credentials is not None and not _is_of(view, credentials, project, key, comes=comes):
        raise WrongToken(
            "The token given proves no agent of this project.",
            hint="Ask in the project of the token's own agent, which a JWT names as Name@project, or come with a token "
            "that is no agent's.",
        )


def only_own(view: View, agents: Iterable[AgentId]) -> frozenset[AgentId]:
    """Those of these agents that whoever calls may put aside unnamed: such a token's own, else all of them."""
    credentials = _confined()
    if credentials is None:
        return frozenset(agents)
    found = [agent for agent_id in agents if (agent := view.agents.find(agent_id)) is not None]
    return frozenset(agent.id for agent in found if _is_for(view, credentials, agent))


def _confined() -> Credentials | None:
    """What let the running call in, where that is for certain agents alone."""
    credentials = find_credentials()
    is_confined = credentials is not None and (credentials.issued_to is not None or credentials.claimed_agents)
    return credentials if is_confined else None


def _is_for(view: View, credentials: Credentials, agent: Agent) -> bool:
    named = credentials.claimed_agents
    is_named = not named or any(_names(view, text, agent) for text in named)
    return is_named and credentials.issued_to in (None, agent.id)


def _is_of(view: View, credentials: Credentials, project: Project | None, key: str, *, comes: bool) -> bool:
    if credentials.issued_to is None:
        return any(_is_named_in(view, text, project, key, comes=comes) for text in credentials.claimed_agents)
    agent = view.agents.find(credentials.issued_to)
    return agent is not None and project is not None and agent.project_id == project.id


def _is_named_in(view: View, text: str, project: Project | None, key: str, *, comes: bool) -> bool:
    """`Name@project` is of that project, which may be made by this very call; a bare name of that of the one agent that
    has it, and where nobody has it of whichever it comes to first: till then it looks at none.
    """
    name, separator, own_key = text.strip().partition("@")
    if separator and project is None:
        return own_key.strip() == key
    if separator:
        own = find_project(view, own_key)
        return own is not None and project is not None and own.id == project.id
    agents = view.agents.find_everywhere(name.strip())
    if not agents:
        return comes and has_names_form(name.strip())
    return len(agents) == 1 and project is not None and agents[0].project_id == project.id


def _names(view: View, text: str, agent: Agent) -> bool:
    """`Name@project` names the one of that project; a bare name the one agent that has it."""
    name, separator, key = text.strip().partition("@")
    if name.strip().casefold() != agent.name.casefold():
        return False
    if separator:
        project = find_project(view, key)
        return project is not None and project.id == agent.project_id
    return len(view.agents.find_everywhere(agent.name)) == 1


def _other_way(view: View, door: Door, known: WireName) -> OtherWay:
    project = view.projects.find(known.project_id)
    assert project is not None, known
    second = view.wire_names.find(known.project_id, second_name(known.name, door.value))
    is_own = second is not None and (second.owner is door or door in second.linked)
    return OtherWay(project=project.slug, own=second.name if second is not None and is_own else None)


def newcomers_caller(auth: AgentAuth) -> Caller:
    """Who brings a name by a door that nobody had: the operator has opened the door."""
    return Caller(kind=CallerKind.DOOR, auth=auth)

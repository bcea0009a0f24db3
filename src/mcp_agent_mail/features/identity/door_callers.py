"""For whom a door speaks. What a door's caller is called proves nothing: a path and a header are anybody's to write."""

from __future__ import annotations

from mcp_agent_mail.core.errors import InvalidInput
from mcp_agent_mail.core.tools import find_credentials
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.doors.names import Door, OtherWay, WireName, require_to_speak, second_name
from mcp_agent_mail.domain.identity.caller import AgentAuth, Caller, CallerKind, WrongToken
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
    credentials = find_credentials()
    if credentials is None:
        return
    is_anothers = credentials.issued_to not in (None, agent.id)
    named = credentials.claimed_agents
    if is_anothers or (named and not any(_names(view, text, agent) for text in named)):
        raise WrongToken(
            f"The token given is another agent's than {agent.name}'s.",
            hint="Speak as that agent, or come with a token that is no agent's.",
        )


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

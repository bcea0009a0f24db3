"""For whom a door speaks. What a door's caller is called proves nothing: a path and a header are anybody's to write."""

from __future__ import annotations

from collections.abc import Iterable

from mcp_agent_mail.core.errors import InvalidInput
from mcp_agent_mail.core.ids import AgentId
from mcp_agent_mail.core.tools import Credentials, find_credentials
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.doors.names import Door, OtherWay, WireName, require_to_speak, second_name
from mcp_agent_mail.domain.identity.caller import AgentAuth, Caller, CallerKind, WrongToken
from mcp_agent_mail.domain.identity.claimed_names import ClaimedName
from mcp_agent_mail.domain.identity.names import has_names_form
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.identity.claimed_names import is_in_project, is_named
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
    if credentials is not None and not _covers_agent(view, credentials, agent):
        raise WrongToken(
            f"The token given is another agent's than {agent.name}'s.",
            hint="Speak as that agent, or come with a token that is no agent's.",
        )


def require_own_project(view: View, project: Project | None, key: str, *, makes_known: bool) -> None:
    """Such a token asks nothing of another project than its agents', also where no agent is named: neither to look nor
    to tidy up. `project` is that of `key`, None where there is none yet; a call that `makes_known` who comes may be the
    first of its agent there. Raises WrongToken, which does not tell whether there is one.
    """
    credentials = _confined()
    if credentials is not None and not _covers_project(view, credentials, project, key, makes_known=makes_known):
        raise WrongToken(
            "The token given proves no agent of this project.",
            hint="Ask in the project of the token's own agent, which a JWT names as Name@project, or come with a token "
            "that is no agent's.",
        )


def covered_agents(view: View, agents: Iterable[AgentId]) -> frozenset[AgentId]:
    """Those of these agents that what let the caller in covers, and that may be put aside unnamed: such a token covers
    its own, everything else all of them.
    """
    credentials = _confined()
    if credentials is None:
        return frozenset(agents)
    found = [agent for agent_id in agents if (agent := view.agents.find(agent_id)) is not None]
    return frozenset(agent.id for agent in found if _covers_agent(view, credentials, agent))


def _confined() -> Credentials | None:
    """What let the running call in, where that is for certain agents alone."""
    credentials = find_credentials()
    is_confined = credentials is not None and (credentials.issued_to is not None or credentials.claimed_agents)
    return credentials if is_confined else None


def _covers_agent(view: View, credentials: Credentials, agent: Agent) -> bool:
    named = credentials.claimed_agents
    is_for_it = not named or any(is_named(view, ClaimedName.parse(text), agent) for text in named)
    return is_for_it and credentials.issued_to in (None, agent.id)


def _covers_project(
    view: View, credentials: Credentials, project: Project | None, key: str, *, makes_known: bool
) -> bool:
    if credentials.issued_to is None:
        named = map(ClaimedName.parse, credentials.claimed_agents)
        return any(_names_project(view, one, project, key, makes_known=makes_known) for one in named)
    agent = view.agents.find(credentials.issued_to)
    return agent is not None and project is not None and agent.project_id == project.id


def _names_project(view: View, claimed: ClaimedName, project: Project | None, key: str, *, makes_known: bool) -> bool:
    """`Name@project` is of that project, which may be made by this very call; a bare name of that of the one agent that
    has it, and where nobody has it of whichever it comes to first: till then it looks at none.
    """
    if claimed.project_key is not None:
        return claimed.project_key == key if project is None else is_in_project(view, claimed, project.id)
    agents = view.agents.find_everywhere(claimed.name)
    if not agents:
        return makes_known and has_names_form(claimed.name)
    return len(agents) == 1 and project is not None and agents[0].project_id == project.id


def _other_way(view: View, door: Door, known: WireName) -> OtherWay:
    project = view.projects.find(known.project_id)
    assert project is not None, known
    second = view.wire_names.find(known.project_id, second_name(known.name, door.value))
    is_own = second is not None and (second.owner is door or door in second.linked)
    return OtherWay(project=project.slug, own=second.name if second is not None and is_own else None)


def newcomers_caller(auth: AgentAuth) -> Caller:
    """Who brings a name by a door that nobody had: the operator has opened the door."""
    return Caller(kind=CallerKind.DOOR, auth=auth)

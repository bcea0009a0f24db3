"""Who takes part in a macro: who comes in with it (as far as it is there already, and what it says of itself), and
the pair of a handshake.
"""

from __future__ import annotations

from mcp_agent_mail.core.errors import InvalidInput, listed
from mcp_agent_mail.core.ids import AgentId, ProjectId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.addresses import parse_address
from mcp_agent_mail.domain.agents import Agent, AgentKind, AttachmentsPolicy
from mcp_agent_mail.domain.identity.caller import Caller, CallerKind, require_to_act
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.identity.actor import require_not_left
from mcp_agent_mail.features.identity.lookup import find_current, require_agent
from mcp_agent_mail.features.identity.register import Registration
from mcp_agent_mail.features.macros.requests import HandshakeRequest, JoinRequest, Newcomer
from mcp_agent_mail.features.projects.ensure import ProjectRequest, find_foreseen
from mcp_agent_mail.features.projects.lookup import require_project, require_writable
from mcp_agent_mail.store.transaction import View


def who_begins(
    view: View, caller: Caller, project_request: ProjectRequest, newcomer: Newcomer
) -> tuple[ProjectId | None, AgentId | None]:
    """Ids of the project and the agent that a session will begin as, each None while it does not exist."""
    project = find_foreseen(view, project_request)
    if project is None:
        return None, None
    agent = _find(view, project, newcomer.name or own_name(caller, project))
    return project.id, None if agent is None else agent.id


def who_joins(view: View, caller: Caller, request: JoinRequest) -> tuple[Project, Agent | None]:
    """The project, and the agent if it exists and the caller may act as it. Raises where it must exist and does not.

    A name that nobody has registered yet is no agent for whoever may register it.
    """
    project = require_project(view, request.project_key)
    name = request.newcomer.name or own_name(caller, project)
    if request.register:
        require_writable(project)
        agent = _find(view, project, name)
        if agent is not None and not view.agents.has_token(agent.id):
            agent = None
    elif name is None:
        raise AgentUnsaid(
            "Say who joins the thread.",
            hint="Give agent_name, or register_if_missing=true to be given a name.",
            data={"parameter": "agent_name"},
        )
    else:
        agent = require_agent(view, project, name)
    if agent is not None and not require_to_act(caller, agent):
        require_not_left(view, agent, name or agent.name)
    return project, agent


def registration(view: View, caller: Caller, project: Project, newcomer: Newcomer) -> Registration:
    """What to register the newcomer with. What it has set before and cannot say in a macro, its attachments policy,
    stays.
    """
    name = newcomer.name or own_name(caller, project)
    known = _find(view, project, name)
    return Registration(
        project_key=project.human_key,
        program=newcomer.program,
        model=newcomer.model,
        name=newcomer.name,
        task_description=newcomer.task_description,
        attachments_policy=AttachmentsPolicy.AUTO if known is None else known.attachments_policy,
    )


def _find(view: View, project: Project, name: str | None) -> Agent | None:
    agent = None if name is None else find_current(view, project.id, name)
    return agent if agent is not None and agent.kind is AgentKind.AGENT else None


_SHOWN = 10


class AgentUnsaid(InvalidInput):
    """Several agents can be meant, or none, and the call names none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HandshakePair:
    """The two agents of a handshake, by name; `target` may be an address."""

    requester: str
    target: str


def own_name(caller: Caller, project: Project) -> str | None:
    """The agent of this project whose token came with the call."""
    return caller.name_in(project.id)


def acting_as(caller: Caller, project: Project, agent: Agent | None = None) -> Caller:
    """A caller with the rights of `agent`, which it has just become, or of a member of the project that it is about to
    become. The operator stays the operator.
    """
    if caller.is_operator:
        return caller
    return Caller(
        kind=CallerKind.AGENT,
        auth=caller.auth,
        agent_id=None if agent is None else agent.id,
        agent_name=None if agent is None else agent.name,
        project_id=project.id,
        is_remote=caller.is_remote,
    )


def require_pair(view: View, caller: Caller, project: Project, said: HandshakeRequest) -> HandshakePair:
    """The two agents of a handshake, as the call names them; one that it leaves out is the caller, or the only one who
    can be meant. Raises AgentUnsaid.
    """
    requester, target = said.requester, said.target
    there = project if said.to_project is None else require_project(view, said.to_project)
    if requester is None:
        not_meant = "" if target is None or there.id != project.id else _plain(target)
        requester = own_name(caller, project) or _only_one(view, project, not_meant, parameter="requester")
    if target is None:
        not_meant = requester if there.id == project.id else ""
        target = _only_one(view, there, not_meant, parameter="target")
    return HandshakePair(requester=requester, target=target)


def _plain(target: str) -> str:
    address = parse_address(target)
    return "" if address.project_key is not None else address.name


def _only_one(view: View, project: Project, less: str, *, parameter: str) -> str:
    active = view.agents.list_(project.id, limit=_SHOWN + 1)
    names = [agent.name for agent in active if agent.name.lower() != less.strip().lower()]
    if len(names) == 1:
        return names[0]
    who = "asks" if parameter == "requester" else "is asked"
    there = f"{project.human_key} has {listed(names[:_SHOWN], 'and') if names else 'no agent'}"
    raise AgentUnsaid(
        f"Say who {who}: {there}.",
        hint=f"Give {parameter}.",
        data={"parameter": parameter, "agents": names[:_SHOWN], "project": project.human_key},
    )

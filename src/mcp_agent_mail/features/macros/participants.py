"""Who comes in with a macro: as far as it is there already, and what it says of itself."""

from __future__ import annotations

from mcp_agent_mail.core.ids import AgentId, ProjectId
from mcp_agent_mail.domain.agents import Agent, AgentKind, AttachmentsPolicy
from mcp_agent_mail.domain.identity.caller import Caller, require_to_act
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.identity.lookup import require_agent
from mcp_agent_mail.features.identity.register import Registration
from mcp_agent_mail.features.macros.meaning import AgentUnsaid, own_name
from mcp_agent_mail.features.macros.requests import JoinRequest, Newcomer
from mcp_agent_mail.features.projects.ensure import Wish
from mcp_agent_mail.features.projects.lookup import find_tied, require_project, require_writable
from mcp_agent_mail.store.transaction import View


def find_foreseen(view: View, wish: Wish) -> Project | None:
    """What `ensure` would find; None where it would make a project."""
    tie = wish.identity.tie
    return wish.find(view) or (None if tie is None else find_tied(view, tie))


def who_begins(view: View, caller: Caller, wish: Wish, newcomer: Newcomer) -> tuple[ProjectId | None, AgentId | None]:
    """As far as they exist."""
    project = find_foreseen(view, wish)
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
    if agent is not None:
        require_to_act(caller, agent)
    return project, agent


def registration(view: View, caller: Caller, project: Project, newcomer: Newcomer) -> Registration:
    """What an agent has set otherwise, and cannot say here, stays as it is."""
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
    agent = None if name is None else view.agents.find_by_name(project.id, name)
    return agent if agent is not None and agent.kind is AgentKind.AGENT else None

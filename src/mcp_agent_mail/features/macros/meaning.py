"""Whom a macro means where the caller left it unsaid."""

from __future__ import annotations

from dataclasses import dataclass

from mcp_agent_mail.core.errors import InvalidInput, listed
from mcp_agent_mail.domain.addresses import parse_address
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.identity.caller import Caller, CallerKind
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.projects.lookup import require_project
from mcp_agent_mail.store.transaction import View

_SHOWN = 10


class AgentUnsaid(InvalidInput):
    """Several agents can be meant, or none, and the call names none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """By name; `target` may be an address."""

    requester: str
    target: str


def own_name(caller: Caller, project: Project | None) -> str | None:
    """The agent of this project whose token came with the call."""
    return None if project is None else caller.name_in(project.id)


def acting_as(caller: Caller, project: Project, agent: Agent | None = None) -> Caller:
    """Whoever has just become this agent, or is about to become one of the project: with the rights of it."""
    if caller.is_operator:
        return caller
    return Caller(
        kind=CallerKind.AGENT,
        auth=caller.auth,
        agent_id=None if agent is None else agent.id,
        agent_name=None if agent is None else agent.name,
        project_id=project.id,
    )


def require_pair(view: View, caller: Caller, project: Project, said: tuple[str | None, str | None, str | None]) -> Pair:
    """`said` is the requester, the target and its project, as far as the call names them."""
    requester, target, to_project = said
    there = project if to_project is None else require_project(view, to_project)
    if requester is None:
        not_meant = "" if target is None or there.id != project.id else _plain(target)
        requester = own_name(caller, project) or _only_one(view, project, not_meant, parameter="requester")
    if target is None:
        not_meant = requester if there.id == project.id else ""
        target = _only_one(view, there, not_meant, parameter="target")
    return Pair(requester=requester, target=target)


def _plain(target: str) -> str:
    address = parse_address(target)
    return "" if address.project_key is not None else address.name


def _only_one(view: View, project: Project, less: str, *, parameter: str) -> str:
    active = view.agents.list_(project.id, limit=_SHOWN + 1)
    names = [agent.name for agent in active if agent.name.lower() != less.strip().lower()]
    if len(names) == 1:
        return names[0]
    who = "asks" if parameter == "requester" else "is asked"
    there = f"{project.human_key} has {listed(names[:_SHOWN]) if names else 'no agent'}"
    raise AgentUnsaid(
        f"Say who {who}: {there}.",
        hint=f"Give {parameter}.",
        data={"parameter": parameter, "agents": names[:_SHOWN], "project": project.human_key},
    )

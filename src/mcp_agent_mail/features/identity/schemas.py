"""What callers get to see of agents. Keys are a wire contract."""

from __future__ import annotations

from typing import Any

from mcp_agent_mail.core.clock import iso, iso_or_none
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.events import ArchiveCommit
from mcp_agent_mail.domain.identity.caller import AgentAuth, Caller
from mcp_agent_mail.features.identity.register import Registered
from mcp_agent_mail.features.identity.results import AgentChange, AgentList, KnownAgent
from mcp_agent_mail.features.projects.schemas import show_project

Wire = dict[str, Any]
"""A JSON object."""

_COMMIT_DIGITS = 12


def show_agent(agent: Agent) -> Wire:
    """An agent as tools and resources give it: its profile and policies. Times are UTC as ISO 8601."""
    return {
        "id": agent.id,
        "name": agent.name,
        "program": agent.program,
        "model": agent.model,
        "task_description": agent.task_description,
        "inception_ts": iso(agent.inception_ts),
        "last_active_ts": iso(agent.last_active_ts),
        "project_id": agent.project_id,
        "contact_policy": agent.contact_policy.value,
        "attachments_policy": agent.attachments_policy.value,
    }


def show_presence(agent: Agent) -> Wire:
    """The keys that say how an agent is just now, beside its profile; `retired_at` is null while it is active."""
    return {
        "status": agent.status.value,
        "status_note": agent.status_note,
        "status_ts": iso_or_none(agent.status_ts),
        "retired_at": iso_or_none(agent.retired_ts),
    }


def show_peer(agent: Agent) -> Wire:
    """An agent as others find it to write to: who it is, at what it is, and whose mail it takes."""
    return {
        "name": agent.name,
        "program": agent.program,
        "model": agent.model,
        "task_description": agent.task_description,
        "last_active_ts": iso(agent.last_active_ts),
        "contact_policy": agent.contact_policy.value,
        "status": agent.status.value,
        "status_note": agent.status_note,
    }


def show_registered(registered: Registered, caller: Caller) -> Wire:
    """The answer to a registration. The token is there only when the name is registered for the first time: it is
    stored hashed, so nobody can be shown it again.
    """
    wire = show_agent(registered.agent)
    if registered.token is not None:
        wire["registration_token"] = registered.token
    if registered.requested_name is not None:
        wire["requested_name"] = registered.requested_name
        wire["name_coerced"] = True
    if registered.window is not None:
        wire["window_id"] = registered.window.uuid
        wire["window_display_name"] = registered.window.display_name
    return _with_proof(wire, caller, is_verified=registered.is_verified)


def show_known(known: KnownAgent) -> Wire:
    commits = [_show_commit(commit) for commit in known.recent_commits]
    return {**show_agent(known.agent), **show_presence(known.agent), "recent_commits": commits}


def show_peers(listing: AgentList) -> Wire:
    """The answer of `list_agents`, last active first. `total` counts what the limit left out too; `unread_count` is
    null where the caller may not know it.
    """
    agents = [
        {**show_peer(agent), "unread_count": listing.unread[agent.id], "retired_at": iso_or_none(agent.retired_ts)}
        for agent in listing.agents
    ]
    return {"agents": agents, "total": listing.total}


def show_agents(listing: AgentList, *, include_retired: bool) -> Wire:
    """The answer of the resource of agents, last active first. `retired_at` is there only where retired ones were asked
    for.
    """
    agents = [{**show_agent(agent), "unread_count": listing.unread[agent.id]} for agent in listing.agents]
    if include_retired:
        for wire, agent in zip(agents, listing.agents, strict=True):
            wire["retired_at"] = iso_or_none(agent.retired_ts)
    return {"project": {"slug": listing.project.slug, "human_key": listing.project.human_key}, "agents": agents}


def show_project_with_agents(listing: AgentList) -> Wire:
    return {**show_project(listing.project), "agents": [show_agent(agent) for agent in listing.agents]}


def show_retired(acted: AgentChange, caller: Caller) -> Wire:
    """The answer of `deregister_agent`. `released` counts the leases that ended with the agent."""
    wire = {
        "status": "deregistered",
        "agent_name": acted.agent.name,
        "project_key": acted.project.human_key,
        "retired_at": iso_or_none(acted.agent.retired_ts),
        "released": acted.released,
    }
    return _with_proof(wire, caller, is_verified=acted.is_verified)


def show_unretired(acted: AgentChange, caller: Caller) -> Wire:
    return _with_proof(show_agent(acted.agent), caller, is_verified=acted.is_verified)


def show_status(acted: AgentChange, caller: Caller) -> Wire:
    wire = {"agent": acted.agent.name, **show_presence(acted.agent)}
    return _with_proof(wire, caller, is_verified=acted.is_verified)


def show_reissued(registered: Registered) -> Wire:
    return {**show_agent(registered.agent), "registration_token": registered.token}


def _show_commit(commit: ArchiveCommit) -> Wire:
    return {
        "hexsha": commit.hexsha[:_COMMIT_DIGITS],
        "summary": commit.summary,
        "authored_ts": iso(commit.authored_ts),
    }


def _with_proof(wire: Wire, caller: Caller, *, is_verified: bool) -> Wire:
    """Where names are taken at their word, an answer says whether this one was. Under `strict` it is always proven."""
    return {**wire, "verified": is_verified} if caller.auth is AgentAuth.OPEN else wire

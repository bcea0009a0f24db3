"""What callers get to see of agents. Keys are a wire contract."""

from __future__ import annotations

from collections.abc import Sequence

from mcp_agent_mail.core.clock import iso, iso_or_none
from mcp_agent_mail.core.tools import JsonObject
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.doors.names import WireName, doors_of
from mcp_agent_mail.domain.events import ArchiveCommit
from mcp_agent_mail.domain.identity.caller import Caller
from mcp_agent_mail.domain.presence import Presence
from mcp_agent_mail.features.identity.register import Registered
from mcp_agent_mail.features.identity.results import AgentChange, AgentList, KnownAgent, LinkedAgent
from mcp_agent_mail.features.identity.shapes import show_agent, show_listening, show_peer, with_proof
from mcp_agent_mail.features.projects.shapes import show_project

_COMMIT_DIGITS = 12


def show_presence(agent: Agent, presence: Presence) -> JsonObject:
    """The keys that say how an agent is just now, beside its profile; `retired_at` is null while it is active."""
    return {
        "status": agent.status.value,
        "status_note": agent.status_note,
        "status_ts": iso_or_none(agent.status_ts),
        **show_listening(presence),
        "retired_at": iso_or_none(agent.retired_ts),
    }


def show_known(known: KnownAgent) -> JsonObject:
    """The answer of `whois`: profile, presence, latest commits, and the names that doors know it by."""
    commits = [_show_commit(commit) for commit in known.recent_commits]
    return {
        **show_agent(known.agent),
        **show_presence(known.agent, known.presence),
        "recent_commits": commits,
        **show_aliases(known.aliases),
    }


def show_aliases(names: Sequence[WireName]) -> JsonObject:
    """The names that doors know an agent by, with the doors whose callers speak as it; `door` is null where none does.
    Nothing where there are none.
    """
    aliases = [
        {"door": None if door is None else door.value, "name": one.name} for one in names for door in doors_of(one)
    ]
    return {"aliases": aliases} if aliases else {}


def show_peers(listing: AgentList, elsewhere: Sequence[LinkedAgent] = ()) -> JsonObject:
    """The answer of `list_agents`, last active first. `total` counts what the limit left out too; `unread_count` is
    null where the caller may not know it. `elsewhere` is there where the project's products have other agents.
    """
    agents = [
        {
            **show_peer(agent, listing.presences[agent.id]),
            "unread_count": listing.unread[agent.id],
            "retired_at": iso_or_none(agent.retired_ts),
            **show_aliases(listing.aliases.get(agent.id, ())),
        }
        for agent in listing.agents
    ]
    others = [
        {
            "project": one.project.human_key,
            "name": one.agent.name,
            "program": one.agent.program,
            "last_active_ts": iso(one.agent.last_active_ts),
        }
        for one in elsewhere
    ]
    return {"agents": agents, "total": listing.total, **({"elsewhere": others} if others else {})}


def show_agents(listing: AgentList, *, include_retired: bool) -> JsonObject:
    """The answer of the resource of agents, last active first. `retired_at` is there only where retired ones were asked
    for.
    """
    agents = [
        {
            **show_agent(agent),
            **show_listening(listing.presences[agent.id]),
            "unread_count": listing.unread[agent.id],
            **show_aliases(listing.aliases.get(agent.id, ())),
        }
        for agent in listing.agents
    ]
    if include_retired:
        for wire, agent in zip(agents, listing.agents, strict=True):
            wire["retired_at"] = iso_or_none(agent.retired_ts)
    return {"project": {"slug": listing.project.slug, "human_key": listing.project.human_key}, "agents": agents}


def show_project_with_agents(listing: AgentList) -> JsonObject:
    return {**show_project(listing.project), "agents": [show_agent(agent) for agent in listing.agents]}


def show_retired(acted: AgentChange, caller: Caller) -> JsonObject:
    """The answer of `deregister_agent`. `released` counts the leases that ended with the agent."""
    wire = {
        "status": "deregistered",
        "agent_name": acted.agent.name,
        "project_key": acted.project.human_key,
        "retired_at": iso_or_none(acted.agent.retired_ts),
        "released": acted.released,
    }
    return with_proof(wire, caller, is_verified=acted.is_verified)


def show_unretired(acted: AgentChange, caller: Caller) -> JsonObject:
    return with_proof(show_agent(acted.agent), caller, is_verified=acted.is_verified)


def show_status(acted: AgentChange, caller: Caller) -> JsonObject:
    wire = {"agent": acted.agent.name, **show_presence(acted.agent, acted.presence)}
    return with_proof(wire, caller, is_verified=acted.is_verified)


def show_reissued(registered: Registered) -> JsonObject:
    return {**show_agent(registered.agent), "registration_token": registered.token}


def _show_commit(commit: ArchiveCommit) -> JsonObject:
    return {
        "hexsha": commit.hexsha[:_COMMIT_DIGITS],
        "summary": commit.summary,
        "authored_ts": iso(commit.authored_ts),
    }

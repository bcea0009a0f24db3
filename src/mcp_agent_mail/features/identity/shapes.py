"""Agents as every answer shows them, and whether who acted was proven. Keys are a wire contract."""

from __future__ import annotations

from collections.abc import Iterator

from mcp_agent_mail.core.clock import iso, iso_or_none
from mcp_agent_mail.core.errors import in_sentences
from mcp_agent_mail.core.tools import JsonObject
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.identity.caller import AgentAuth, Caller
from mcp_agent_mail.domain.presence import Presence
from mcp_agent_mail.features.identity.register import Registered


def show_agent(agent: Agent) -> JsonObject:
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


def show_listening(presence: Presence) -> JsonObject:
    """Whether mail would find the agent at its place just now, by what, and since when it has been busy; null where
    nothing is known.
    """
    return {
        "listening": presence.is_listening,
        "listening_via": None if presence.via is None else presence.via.value,
        "busy_since": iso_or_none(presence.busy_since),
    }


def show_peer(agent: Agent, presence: Presence) -> JsonObject:
    """An agent as others find it to write to: who it is, at what it is, whose mail it takes, and whether it listens."""
    return {
        "name": agent.name,
        "program": agent.program,
        "model": agent.model,
        "task_description": agent.task_description,
        "last_active_ts": iso(agent.last_active_ts),
        "contact_policy": agent.contact_policy.value,
        "status": agent.status.value,
        "status_note": agent.status_note,
        **show_listening(presence),
    }


def show_registered(registered: Registered, caller: Caller) -> JsonObject:
    """The answer to a registration. The token is there only when the name is registered for the first time: it is
    stored hashed, so nobody can be shown it again. Of an agent that was there already it says what it `was`.
    """
    wire = show_agent(registered.agent)
    if registered.token is not None:
        wire["registration_token"] = registered.token
    if registered.requested_name is not None:
        wire["requested_name"] = registered.requested_name
        wire["name_coerced"] = True
    if registered.was is not None:
        wire["existing"] = True
        wire["was"] = {
            "program": registered.was.program,
            "model": registered.was.model,
            "last_active_ts": iso(registered.was.last_active_ts),
        }
    if hint := in_sentences(*_doubts(registered, caller)):
        wire["hint"] = hint
    if registered.window is not None:
        wire["window_id"] = registered.window.uuid
        wire["window_display_name"] = registered.window.display_name
    return with_proof(wire, caller, is_verified=registered.is_verified)


def _doubts(registered: Registered, caller: Caller) -> Iterator[str]:
    """What speaks against it that the agent is who was meant, or that it can act on the connection of this call."""
    name = registered.agent.name
    if registered.free_name is not None:
        yield f"{name} was registered before. Not you? {registered.free_name} is free."
    if registered.like is not None:
        yield f"A new agent. Did you mean {registered.like}, who is here already?"
    if registered.is_shut_out and caller.token_agents is not None:
        yield caller.token_agents.shut_out(name)


def with_proof(answer: JsonObject, caller: Caller, *, is_verified: bool) -> JsonObject:
    """`answer`, and whether who acted was proven where names are taken at their word (AGENT_AUTH=open); under `strict`
    they always are.
    """
    return {**answer, "verified": is_verified} if caller.auth is AgentAuth.OPEN else answer

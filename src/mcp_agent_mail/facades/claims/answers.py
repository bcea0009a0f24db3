"""What the tools of this profile answer where its users know another shape than ours. Keys are a wire contract."""

from __future__ import annotations

from mcp_agent_mail.core.errors import in_sentences, listed
from mcp_agent_mail.core.tools import JsonObject
from mcp_agent_mail.domain.identity.caller import Caller
from mcp_agent_mail.features.identity.shapes import show_registered
from mcp_agent_mail.features.macros.results import AgentRegistered
from mcp_agent_mail.features.reservations.answers import Replayed
from mcp_agent_mail.features.reservations.grant import GrantResult
from mcp_agent_mail.features.reservations.shapes import show_decided

_NAMED = 3
"""Holders that a hint names."""


def show_created(created: AgentRegistered, caller: Caller) -> JsonObject:
    """The agent as a registration shows it, with the directory of its project."""
    wire = show_registered(created.registered, caller)
    doubt = created.doubt.replace("human_key=", "project_key=")
    hint = in_sentences(wire.pop("hint", ""), doubt)
    return {**wire, "project_key": created.project.human_key, **({"hint": hint} if hint else {})}


def show_claimed(outcome: GrantResult | Replayed) -> JsonObject:
    """What was granted, and what stands against the rest: nobody holds what is under `conflicts` by this call."""
    assert isinstance(outcome, GrantResult), "no call of this profile has an idempotency key"
    decided = show_decided(outcome, stale=())
    wire: JsonObject = {
        "granted": [{"path": grant["path_pattern"], **grant} for grant in decided["granted"]],
        "conflicts": decided["conflicts"],
    }
    if wire["conflicts"]:
        wire["hint"] = f"Not granted: write to {_holders(wire)}, or claim again once it is given back."
    if "warnings" in decided:
        wire["warnings"] = decided["warnings"]
    return wire


def _holders(wire: JsonObject) -> str:
    names = list(dict.fromkeys(one["agent"] for conflict in wire["conflicts"] for one in conflict["holders"]))
    return listed([*names[:_NAMED], *(["the others"] if len(names) > _NAMED else [])], "and")

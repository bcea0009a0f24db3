"""Grants and conflicts as every answer shows them. Keys are a wire contract."""

from __future__ import annotations

from collections.abc import Collection

from mcp_agent_mail.core.clock import Micros, iso
from mcp_agent_mail.core.errors import listed
from mcp_agent_mail.core.ids import LeaseId
from mcp_agent_mail.core.tools import JsonObject
from mcp_agent_mail.domain.leases import Lease
from mcp_agent_mail.domain.reservations import PathConflict, PathWarning, WaitingCall
from mcp_agent_mail.features.reservations.grant import GrantResult

_NAMED = 3
"""Holders that a hint names."""


def show_grant(lease: Lease) -> JsonObject:
    """One reservation that a call was granted, until `expires_ts` in UTC."""
    return {
        "id": lease.id,
        "path_pattern": lease.path_pattern,
        "exclusive": lease.exclusive,
        "reason": lease.reason,
        "expires_ts": iso(lease.expires_ts),
        "fencing": lease.fencing,
    }


def show_conflict(conflict: PathConflict, stale: Collection[LeaseId]) -> JsonObject:
    """A path that was not granted, with who holds it, or with who waits for it where nobody does. `stale` are the ids
    of leases that look abandoned.
    """
    holders = [_show_holder(lease, stale) for lease in conflict.holders]
    return {"path": conflict.path, "holders": holders or [_show_waiting(one) for one in conflict.waiting]}


def _show_holder(lease: Lease, stale: Collection[LeaseId]) -> JsonObject:
    return {
        "agent": lease.agent,
        "reservation_id": lease.id,
        "path_pattern": lease.path_pattern,
        "exclusive": lease.exclusive,
        "expires_ts": iso(lease.expires_ts),
        "reason": lease.reason,
        "stale": lease.id in stale,
    }


def _show_waiting(waiting: WaitingCall) -> JsonObject:
    """Nobody holds the path, but someone waits for it and was first: until then at most."""
    return {
        "agent": waiting.agent,
        "reservation_id": None,
        "path_pattern": waiting.path_pattern,
        "exclusive": waiting.exclusive,
        "expires_ts": iso(Micros(waiting.until_ts)),
        "reason": waiting.reason,
        "stale": False,
        "waiting": True,
    }


def show_decided(decided: GrantResult, stale: Collection[LeaseId]) -> JsonObject:
    """What a call was granted and what stands against the rest. It is what an idempotency key keeps for a repeat;
    `stale` are those of the holders' leases that look abandoned.
    """
    wire: JsonObject = {
        "granted": [show_grant(lease) for lease in decided.granted],
        "conflicts": [show_conflict(conflict, stale) for conflict in decided.conflicts],
    }
    if decided.conflicts:
        wire["hint"] = _what_next(decided)
    if decided.warnings:
        wire["warnings"] = [_show_warning(warning) for warning in decided.warnings]
    return wire


def _what_next(decided: GrantResult) -> str:
    """Of all conflicts together, and no tool's name: a connection may lack it."""
    names: dict[str, None] = {}
    for conflict in decided.conflicts:
        names.update(dict.fromkeys(one.agent for one in conflict.holders or conflict.waiting))
    more = ["the others"] if len(names) > _NAMED else []
    whom = listed([*list(names)[:_NAMED], *more], "and")
    if decided.has_waited:
        return f"Waiting takes all or nothing. Write to {whom}, wait again, or leave out what is in conflict."
    return f"Write to {whom}, or reserve with wait_seconds=50 to wait in line."


def _show_warning(warning: PathWarning) -> JsonObject:
    wire: JsonObject = {"path": warning.path, "reason": warning.reason}
    if warning.did_you_mean:
        wire["did_you_mean"] = list(warning.did_you_mean)
    return wire

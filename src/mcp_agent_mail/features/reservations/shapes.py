"""Grants and conflicts as every answer shows them. Keys are a wire contract."""

from __future__ import annotations

from collections.abc import Collection

from mcp_agent_mail.core.clock import Micros, iso
from mcp_agent_mail.core.ids import LeaseId
from mcp_agent_mail.core.tools import JsonObject
from mcp_agent_mail.domain.leases import Lease
from mcp_agent_mail.domain.reservations import PathConflict, WaitingCall
from mcp_agent_mail.features.reservations.grant import GrantResult


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
    return {
        "granted": [show_grant(lease) for lease in decided.granted],
        "conflicts": [show_conflict(conflict, stale) for conflict in decided.conflicts],
    }

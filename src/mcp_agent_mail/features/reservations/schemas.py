"""What callers get to see of reservations: grants, conflicts, releases, renewals, looks ahead, and of stale ones the
proof. Keys are a wire contract.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from mcp_agent_mail.core.clock import Micros, iso, iso_or_none
from mcp_agent_mail.core.ids import LeaseId
from mcp_agent_mail.core.tools import Json
from mcp_agent_mail.domain.identity.caller import AgentAuth, Caller
from mcp_agent_mail.domain.leases import Lease
from mcp_agent_mail.domain.reservations import LeaseRefusal, PathConflict, WaitingCall
from mcp_agent_mail.features.reservations.answers import Replayed
from mcp_agent_mail.features.reservations.conflicts import ConflictPreview
from mcp_agent_mail.features.reservations.force_release import Forced
from mcp_agent_mail.features.reservations.grant import GrantResult
from mcp_agent_mail.features.reservations.release import ReleasedLeases, RenewedLeases
from mcp_agent_mail.features.reservations.staleness import Assessment, show_evidence

Wire = dict[str, Any]
"""A JSON object."""


def show_grant(lease: Lease) -> Wire:
    """One reservation that a call was granted, until `expires_ts` in UTC."""
    return {
        "id": lease.id,
        "path_pattern": lease.path_pattern,
        "exclusive": lease.exclusive,
        "reason": lease.reason,
        "expires_ts": iso(lease.expires_ts),
        "fencing": lease.fencing,
    }


def show_conflict(conflict: PathConflict, stale: Collection[LeaseId]) -> Wire:
    """A path that was not granted, with who holds it, or with who waits for it where nobody does. `stale` are the ids
    of leases that look abandoned.
    """
    holders = [_show_holder(lease, stale) for lease in conflict.holders]
    return {"path": conflict.path, "holders": holders or [_show_waiting(one) for one in conflict.waiting]}


def _show_holder(lease: Lease, stale: Collection[LeaseId]) -> Wire:
    return {
        "agent": lease.agent,
        "reservation_id": lease.id,
        "path_pattern": lease.path_pattern,
        "exclusive": lease.exclusive,
        "expires_ts": iso(lease.expires_ts),
        "reason": lease.reason,
        "stale": lease.id in stale,
    }


def _show_waiting(waiting: WaitingCall) -> Wire:
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


def show_decided(decided: GrantResult, stale: Collection[LeaseId]) -> Wire:
    """What a call was granted and what stands against the rest. It is what an idempotency key keeps for a repeat;
    `stale` are those of the holders' leases that look abandoned.
    """
    return {
        "granted": [show_grant(lease) for lease in decided.granted],
        "conflicts": [show_conflict(conflict, stale) for conflict in decided.conflicts],
    }


def reserve_result(outcome: GrantResult | Replayed, stale: Collection[LeaseId], caller: Caller) -> Wire:
    wire = outcome.answer if isinstance(outcome, Replayed) else show_decided(outcome, stale)
    return _with_proof(wire, caller, is_verified=outcome.holder.verified)


def release_result(released: ReleasedLeases, caller: Caller) -> Wire:
    """The answer of `release_file_reservations`: what ended, and what was passed over with the reason. `released_at` is
    null where nothing ended.
    """
    wire = {
        "released": len(released.leases),
        "released_at": iso_or_none(released.at),
        "file_reservations": [{"id": lease.id, "path_pattern": lease.path_pattern} for lease in released.leases],
        "not_released": [_show_refusal(refusal) for refusal in released.refused],
    }
    return _with_proof(wire, caller, is_verified=released.holder.verified)


def renew_result(renewed: RenewedLeases, caller: Caller) -> Wire:
    """The answer of `renew_file_reservations`: each lease with its old and new end, and what was passed over with the
    reason. A lease that had lapsed has a new fencing number.
    """
    wire = {
        "renewed": len(renewed.leases),
        "file_reservations": [
            {
                "id": lease.id,
                "path_pattern": lease.path_pattern,
                "old_expires_ts": iso(old),
                "new_expires_ts": iso(lease.expires_ts),
                "fencing": lease.fencing,
            }
            for lease, old in renewed.leases
        ],
        "not_renewed": [{"id": refusal.lease_id, **_show_refusal(refusal)} for refusal in renewed.refused],
    }
    return _with_proof(wire, caller, is_verified=renewed.holder.verified)


def _show_refusal(refusal: LeaseRefusal) -> Wire:
    wire: Wire = {"reason": refusal.reason}
    if refusal.lease_id is not None:
        wire["id"] = refusal.lease_id
    if refusal.path is not None:
        wire["path"] = refusal.path
    return wire


def look_ahead_result(look: ConflictPreview, stale: Collection[LeaseId]) -> Wire:
    return {"conflicts": [show_conflict(conflict, stale) for conflict in look.conflicts], "free": list(look.free)}


def _with_proof(wire: Wire, caller: Caller, *, is_verified: bool) -> Wire:
    """Where names are taken at their word, an answer to an act says whether this one was."""
    return {**wire, "verified": is_verified} if caller.auth is AgentAuth.OPEN else wire


def show_forced(forced: Forced) -> Json:
    """The answer of `force_release_file_reservation`. `released` is 1, or 0 with `already_released` where it had ended
    before; then `released_at` is of that end.
    """
    answer: Json = {
        "released": int(forced.is_released),
        "released_at": iso(forced.released_ts),
        "reservation": {**show_assessed(forced.assessment), "notified": forced.is_notified},
    }
    return answer if forced.is_released else {**answer, "already_released": True}


def show_assessed(assessment: Assessment) -> Json:
    """A reservation of any state with the evidence of work on it; `released_ts` is null while nobody has ended it."""
    lease = assessment.lease
    return {
        "id": lease.id,
        "agent": lease.agent,
        "path_pattern": lease.path_pattern,
        "exclusive": lease.exclusive,
        "reason": lease.reason,
        "created_ts": iso(lease.created_ts),
        "expires_ts": iso(lease.expires_ts),
        "released_ts": iso_or_none(lease.released_ts),
        "fencing": lease.fencing,
        **show_evidence(assessment),
    }

"""What callers get to see of reservations: grants, conflicts, releases, renewals, looks ahead, and of stale ones the
proof. Keys are a wire contract.
"""

from __future__ import annotations

from collections.abc import Collection

from mcp_agent_mail.core.clock import iso, iso_or_none
from mcp_agent_mail.core.ids import LeaseId
from mcp_agent_mail.core.tools import Json, JsonObject
from mcp_agent_mail.domain.identity.caller import Caller
from mcp_agent_mail.domain.reservations import LeaseRefusal
from mcp_agent_mail.features.identity.shapes import with_proof
from mcp_agent_mail.features.reservations.answers import Replayed
from mcp_agent_mail.features.reservations.conflicts import ConflictPreview
from mcp_agent_mail.features.reservations.force_release import Forced
from mcp_agent_mail.features.reservations.grant import GrantResult
from mcp_agent_mail.features.reservations.release import ReleasedLeases, RenewedLeases
from mcp_agent_mail.features.reservations.shapes import show_conflict, show_decided
from mcp_agent_mail.features.reservations.staleness import Assessment, show_evidence


def show_reserved(outcome: GrantResult | Replayed, stale: Collection[LeaseId], caller: Caller) -> JsonObject:
    wire = outcome.answer if isinstance(outcome, Replayed) else show_decided(outcome, stale)
    return with_proof(wire, caller, is_verified=outcome.holder.verified)


def show_released(released: ReleasedLeases, caller: Caller) -> JsonObject:
    """The answer of `release_file_reservations`: what ended, and what was passed over with the reason. `released_at` is
    null where nothing ended.
    """
    wire = {
        "released": len(released.leases),
        "released_at": iso_or_none(released.at),
        "file_reservations": [{"id": lease.id, "path_pattern": lease.path_pattern} for lease in released.leases],
        "not_released": [_show_refusal(refusal) for refusal in released.refused],
        **_of_empty_list(released),
    }
    return with_proof(wire, caller, is_verified=released.holder.verified)


def show_renewed(renewed: RenewedLeases, caller: Caller) -> JsonObject:
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
        **_of_empty_list(renewed),
    }
    return with_proof(wire, caller, is_verified=renewed.holder.verified)


def _of_empty_list(done: ReleasedLeases | RenewedLeases) -> JsonObject:
    return {"hint": "An empty list names none, so all of yours were meant."} if done.by_empty_list else {}


def _show_refusal(refusal: LeaseRefusal) -> JsonObject:
    wire: JsonObject = {"reason": refusal.reason}
    if refusal.lease_id is not None:
        wire["id"] = refusal.lease_id
    if refusal.path is not None:
        wire["path"] = refusal.path
    return wire


def show_preview(look: ConflictPreview, stale: Collection[LeaseId]) -> JsonObject:
    return {"conflicts": [show_conflict(conflict, stale) for conflict in look.conflicts], "free": list(look.free)}


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

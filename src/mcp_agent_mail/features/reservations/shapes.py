"""A lease with what is known of work on it, as agents see it."""

from __future__ import annotations

from mcp_agent_mail.core.clock import iso, iso_or_none
from mcp_agent_mail.core.tools import Json
from mcp_agent_mail.features.reservations.force_release import Forced
from mcp_agent_mail.features.reservations.staleness import Assessment, show_evidence


def show_forced(forced: Forced) -> Json:
    answer: Json = {
        "released": int(forced.is_released),
        "released_at": iso(forced.released_ts),
        "reservation": {**show_assessed(forced.assessment), "notified": forced.is_notified},
    }
    return answer if forced.is_released else {**answer, "already_released": True}


def show_assessed(assessment: Assessment) -> Json:
    """The wire's Lease."""
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

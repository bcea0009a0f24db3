"""Build slots as agents see them."""

from __future__ import annotations

from mcp_agent_mail.core.clock import iso, iso_or_none
from mcp_agent_mail.core.tools import Json
from mcp_agent_mail.domain.leases import Lease
from mcp_agent_mail.features.build_slots.results import AcquiredSlot, ReleasedSlot, RenewedSlot


def show_slot(lease: Lease) -> Json:
    """One lease of a slot, for its holder and for whoever finds it held. Times are UTC as ISO 8601."""
    return {
        "slot": lease.path_pattern,
        "agent": lease.agent,
        "branch": lease.branch,
        "exclusive": lease.exclusive,
        "acquired_ts": iso(lease.created_ts),
        "expires_ts": iso(lease.expires_ts),
        "fencing": lease.fencing,
    }


def show_acquired(acquired: AcquiredSlot) -> Json:
    """The answer of `acquire_build_slot`: `granted` is null where others hold the slot. `already_held` is there only
    when it is true.
    """
    answer = {
        "granted": None if acquired.granted is None else show_slot(acquired.granted),
        "conflicts": [show_slot(lease) for lease in acquired.conflicts],
    }
    return {**answer, "already_held": True} if acquired.already_held else answer


def show_renewed(renewed: RenewedSlot) -> Json:
    return {"renewed": renewed.expires_ts is not None, "expires_ts": iso_or_none(renewed.expires_ts)}


def show_released(released: ReleasedSlot) -> Json:
    return {"released": released.released_ts is not None, "released_at": iso_or_none(released.released_ts)}

"""What archives say of doors: in a profile the names that doors know an agent by, in mail by which id it came in.

Most agents and most mail have nothing of it, and their files say nothing then.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mcp_agent_mail.core.clock import iso
from mcp_agent_mail.domain.doors.ids import WirePlace
from mcp_agent_mail.domain.doors.names import WireName

ALIASES = "aliases"
UNCLAIMED = "unclaimed"
RETIRED_BY = "retired_by"
OPERATOR = "operator"
EXTERNAL_ID = "external_id"


def aliases_record(names: Sequence[WireName], *, is_claimed: bool) -> dict[str, Any]:
    """Of one agent, in the order in which it got them. `unclaimed`: nobody has spoken as it yet, so that the first who
    does has it. Of agents that no door knows it is not written.
    """
    if not names:
        return {}
    aliases = [
        {
            "created_ts": iso(one.created_ts),
            "doors": sorted(door.value for door in one.linked),
            "id": one.id,
            "name": one.name,
            "owner": None if one.owner is None else one.owner.value,
        }
        for one in sorted(names, key=lambda name: name.id)
    ]
    return {ALIASES: aliases} | ({} if is_claimed else {UNCLAIMED: True})


def retirement_record(*, by_operator: bool) -> dict[str, str]:
    """Who has retired an agent, where it was the operator: no call at a door brings it back."""
    return {RETIRED_BY: OPERATOR} if by_operator else {}


def external_id_record(place: WirePlace | None) -> dict[str, Any]:
    """By which id, to whom and in answer to which message it came in. Who sent it and what it said stands beside it."""
    if place is None:
        return {}
    return {
        EXTERNAL_ID: {
            "answers": place.answers,
            "door": place.door.value,
            "id": place.external_id,
            "recipient_id": place.recipient_id,
        }
    }

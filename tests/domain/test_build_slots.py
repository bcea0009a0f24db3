from __future__ import annotations

import pytest

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.domain.build_slots import MAX_SLOT_LENGTH, UnfitSlot, in_the_way, slot_name
from mcp_agent_mail.domain.leases import LeaseKind
from tests.domain.leases_made import ANOTHER, AT, MYSELF, make_lease


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (" frontend-build\n", "frontend-build"),
        ("Build", "Build"),
        ("caf\u00e9 1", "caf\u00e9 1"),
        ("x" * 128, "x" * 128),
    ],
)
def test_a_slots_name_is_kept_without_outer_blanks(text: str, name: str) -> None:
    assert slot_name(text) == name


@pytest.mark.parametrize(
    ("text", "says"),
    [(" \n", "is blank"), ("x" * 129, "has 129 characters; at most 128"), ("a\nb", "control characters")],
)
def test_what_is_no_name_is_refused_with_the_parameter(text: str, says: str) -> None:
    with pytest.raises(UnfitSlot, match=says) as refused:
        slot_name(text)

    assert refused.value.hint
    assert refused.value.data == {"parameter": "slot", "max_length": MAX_SLOT_LENGTH}


def test_only_others_live_leases_that_are_exclusive_or_meet_an_exclusive_wish_are_in_the_way() -> None:
    exclusive, shared, own, expired, ended = (
        make_lease(
            "build", kind=LeaseKind.SLOT, agent_id=agent_id, exclusive=is_exclusive, expires_ts=end, released_ts=over
        )
        for agent_id, is_exclusive, end, over in (
            (ANOTHER, True, AT + 1, None),
            (ANOTHER, False, AT + 1, None),
            (MYSELF, True, AT + 1, None),
            (ANOTHER, True, AT, None),
            (ANOTHER, True, AT + 1, AT),
        )
    )
    held = [exclusive, shared, own, expired, ended]

    assert in_the_way(held, MYSELF, exclusive=True, now=Micros(AT)) == [exclusive, shared]
    assert in_the_way(held, MYSELF, exclusive=False, now=Micros(AT)) == [exclusive]

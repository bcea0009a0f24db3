from __future__ import annotations

from pathlib import Path

import pytest

from mcp_agent_mail.domain.archive_format.parse.leases import parse_lease
from mcp_agent_mail.domain.leases import LeaseKind

GOLDEN = Path(__file__).parents[3] / "golden" / "archive" / "app-1a2b3c"
LIVE, ENDED = "file_reservations/id-7.json", "file_reservations/released/2026/11/0-499/id-8.json"


@pytest.mark.parametrize(
    ("place", "content"), [(ENDED.replace("8", "7"), LIVE), ("file_reservations/id-8.json", ENDED)]
)
def test_a_lease_lies_where_its_end_says(place: str, content: str) -> None:
    with pytest.raises(ValueError, match="does not lie"):
        parse_lease(LeaseKind.FILE, place, (GOLDEN / content).read_bytes(), 2)


def test_an_end_has_a_way_and_a_time() -> None:
    content = (GOLDEN / ENDED).read_bytes().replace(b'"release"', b"null")

    with pytest.raises(ValueError, match="do not go together"):
        parse_lease(LeaseKind.FILE, ENDED, content, 2)


def test_a_slot_is_no_reservation() -> None:
    with pytest.raises(ValueError, match="slot is missing"):
        parse_lease(LeaseKind.SLOT, "build_slots/id-7.json", (GOLDEN / LIVE).read_bytes(), 2)

from __future__ import annotations

import pytest

from tests.features.delivery.harness import DeliveryHarness, refused


@pytest.mark.parametrize(
    ("tool", "arguments", "parameter"),
    [
        ("message_status", {"message_id": 0}, "message_id"),
        ("fetch_inbox_events", {"agent_name": "RedStone", "after": -1}, "after"),
        ("fetch_inbox_events", {"agent_name": "RedStone", "limit": 0}, "limit"),
        ("withdraw_message", {"sender_name": "BlueLake", "message_id": "x"}, "message_id"),
        ("withdraw_message", {"sender_name": "BlueLake", "message_id": 1, "reason": "x" * 1_001}, "reason"),
        ("wait_for_messages", {"agent_name": "RedStone", "timeout_s": 0}, "timeout_s"),
    ],
)
async def test_bad_input_is_refused_by_the_name_of_its_parameter(
    harness: DeliveryHarness, tool: str, arguments: dict[str, object], parameter: str
) -> None:
    before = harness.everything()

    error = await refused(harness.call(tool, **arguments))

    assert (error.code, error.data["parameter"]) == ("INVALID_INPUT", parameter)
    assert harness.everything() == before


async def test_more_events_than_a_page_has_are_taken_for_the_most(harness: DeliveryHarness) -> None:
    assert (await harness.feed("RedStone", limit=5_000))["events"] == []

from __future__ import annotations

import pytest

from mcp_agent_mail.core.clock import Micros
from tests.features.delivery.harness import DeliveryHarness, refused


async def test_a_wait_says_whose_its_cursor_is(harness: DeliveryHarness) -> None:
    wait = harness.tools.find("wait_for_messages")

    assert wait is not None
    assert "next_cursor of a wait with the same filter" in " ".join(wait.description.split())


@pytest.mark.parametrize(
    ("tool", "argument"),
    [("wait_for_messages", "after_cursor"), ("fetch_inbox_events", "after")],
)
async def test_a_cursor_that_leads_nowhere_is_refused_with_the_tools_own_next_call(
    harness: DeliveryHarness, tool: str, argument: str
) -> None:
    for _ in range(2):
        await harness.sent_id()
    store = harness.seeded.store
    await store.write(lambda tx: tx.feed.mark(tx.now, Micros(0)))
    await store.write(lambda tx: tx.feed.forget(tx.now, tx.now, 100))
    tail = harness.service.feed_tail()

    expired, ahead, no_cursor = [
        await refused(harness.call(tool, agent_name="RedStone", **{argument: cursor}))
        for cursor in (tail - 1, tail + 1, -1)
    ]

    goes_on = f"Read the inbox, then go on with {argument}={tail}"
    assert expired.hint == f"{goes_on}; {argument}=0 gives the oldest that is kept."
    assert ahead.hint == f"{goes_on}."
    assert no_cursor.hint == f"{argument} is 0, or next_cursor of an earlier answer."


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

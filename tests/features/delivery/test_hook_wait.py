"""`hook_wait`: the wait, and of what ended it what a hook would tell, which gives no session anything."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_agent_mail.core.tools import Credentials
from mcp_agent_mail.domain.hooks import announcements
from mcp_agent_mail.features.delivery.wait import MOST_MESSAGES
from tests.features.delivery.harness import DeliveryHarness

A_HOOK = Credentials(via="rpc")


async def wait(harness: DeliveryHarness, **arguments: Any) -> Any:
    return await harness.call("hook_wait", A_HOOK, agent_name="RedStone", **arguments)


def ids(items: list[dict[str, Any]]) -> list[int]:
    return [one["id"] for one in items]


async def test_it_is_a_wait_with_what_a_hook_would_tell_the_most_important_first(harness: DeliveryHarness) -> None:
    low, normal = [await harness.sent_id(importance=one) for one in ("low", "normal")]
    high, urgent = [await harness.sent_id(importance=one) for one in ("high", "urgent")]

    answer = await wait(harness)

    assert ids(answer["told"]) == [urgent, high, low]
    assert (answer["more"], answer["unread"]) == (1, 4)
    plain = await harness.call("wait_for_messages", agent_name="RedStone")
    assert {key: answer[key] for key in plain} == plain
    assert ids(plain["messages"]) == [low, normal, high, urgent]
    assert list(answer) == [*plain, "told", "more", "unread"]


async def test_an_item_says_whether_its_sender_is_verified_and_the_first_line_alone(harness: DeliveryHarness) -> None:
    words = {"subject": "Plan", "body_md": "\n\nFirst line.\nSecond line.", "ack_required": True}
    proven = await harness.sent_id(harness.proof(harness.seeded.blue), **words)
    said = await harness.sent_id(**words)

    one, other = (await wait(harness))["told"]

    assert one == {
        "id": proven,
        "from": "BlueLake",
        "verified": True,
        "age_s": 0,
        "importance": "normal",
        "subject": "Plan",
        "first_line": "First line.",
        "ack_required": True,
        "asks_stop": False,
    }
    assert other == one | {"id": said, "verified": False}


async def test_what_is_told_out_of_its_turn_is_found_again_behind_the_cursor(harness: DeliveryHarness) -> None:
    """So nothing is passed over: a page goes on with the oldest, however urgent something else is."""
    many = [await harness.sent_id() for _ in range(MOST_MESSAGES + 2)]
    urgent = await harness.sent_id(importance="urgent")

    first = await wait(harness)
    then = await wait(harness, after_cursor=first["next_cursor"])

    assert ids(first["told"]) == [urgent, *many[:2]]
    assert (ids(first["messages"]), first["more"]) == (many[:MOST_MESSAGES], MOST_MESSAGES)
    assert ids(then["messages"]) == [*many[MOST_MESSAGES:], urgent]
    assert (ids(then["told"]), then["more"]) == ([urgent, *many[MOST_MESSAGES:]], 0)


async def test_with_urgent_only_no_other_mail_is_told_or_counted(harness: DeliveryHarness) -> None:
    await harness.sent_id()
    high = [await harness.sent_id(importance="high") for _ in range(4)]

    answer = await wait(harness, urgent_only=True)

    assert (ids(answer["told"]), answer["more"], answer["unread"]) == (high[:3], 1, 5)


async def test_what_was_read_meanwhile_is_told_only_where_nothing_else_ended_the_wait(harness: DeliveryHarness) -> None:
    cursor = (await harness.feed("RedStone", position_now=True))["tail_cursor"]
    normal, urgent = await harness.sent_id(), await harness.sent_id(importance="urgent")
    await harness.call("mark_message_read", agent_name="RedStone", message_ids=[normal, urgent])

    all_read = await wait(harness, after_cursor=cursor)
    fresh = await harness.sent_id()
    one_unread = await wait(harness, after_cursor=cursor)

    assert (ids(all_read["told"]), all_read["more"], all_read["unread"]) == ([urgent, normal], 0, 0)
    assert (ids(one_unread["told"]), one_unread["more"], one_unread["unread"]) == ([fresh], 0, 1)
    assert ids(one_unread["messages"]) == [normal, urgent, fresh]


async def test_the_rest_is_counted_within_a_bound(harness: DeliveryHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp_agent_mail.features.delivery.wait.MOST_MORE", 2)
    for _ in range(announcements.MAX_ITEMS + 4):
        await harness.sent_id()

    assert (await wait(harness))["more"] == 2


async def test_no_session_is_given_it_and_nothing_is_read(harness: DeliveryHarness) -> None:
    number = await harness.sent_id()

    await wait(harness)

    told = await harness.call("hook_event", A_HOOK, agent_name="RedStone", session="s", event="turn", least="any")
    assert (ids(told["messages"]), told["unread"]) == ([number], 1)


async def test_without_mail_nothing_is_told(harness: DeliveryHarness) -> None:
    answer = await wait(harness, timeout_s=1)

    assert (answer["timed_out"], answer["told"], answer["more"], answer["unread"]) == (True, [], 0, 0)

from __future__ import annotations

from typing import Any

import pytest

from mcp_agent_mail.core.errors import (
    InvalidInput,
)
from tests.features.messaging.harness import MessagingHarness, refused_send


async def test_a_limit_beyond_the_maximum_counts_as_it_and_one_below_the_minimum_is_refused(
    harness: MessagingHarness,
) -> None:
    await harness.sent_id()

    assert len(await harness.inbox("RedStone", limit=10**9)) == 1
    for limit in (-1, "x", 5.5):
        with pytest.raises(InvalidInput):
            await harness.inbox("RedStone", limit=limit)


@pytest.mark.parametrize(
    "bad",
    [
        {"subject": ""},
        {"subject": " \n"},
        {"subject": "x" * 513},
        {"subject": "a\x1bb"},
        {"importance": "critical"},
        {"thread_id": "a b"},
        {"topic": "a/b"},
        {"idempotency_key": "k" * 201},
        {"body_md": None},
        {"body_md": {"a": 1}},
        {"reply_to": "seven"},
        {"reply_to": -1},
        {"ack_required": "perhaps"},
        {"sender_name": ""},
        {"attachment_paths": ["x.png"] * 21},
    ],
)
async def test_bad_input_is_invalid_and_leaves_no_trace(harness: MessagingHarness, bad: dict[str, Any]) -> None:
    assert (await refused_send(harness, **bad)).code == "INVALID_INPUT"


async def test_loose_input_is_understood(harness: MessagingHarness) -> None:
    answer = await harness.send(
        to='["RedStone", "GreenField"]',
        importance=" HIGH ",
        ack_required="true",
        thread_id="  ",
        topic="",
        subject="a\nb",
    )

    payload = answer["deliveries"][0]["payload"]
    assert (payload["importance"], payload["ack_required"], payload["thread_id"]) == ("high", True, None)
    assert (payload["subject"], payload["to"]) == ("a b", ["RedStone", "GreenField"])


async def test_a_message_is_sent_answered_read_and_acknowledged(harness: MessagingHarness) -> None:
    first = await harness.sent_id(importance="high", topic="build", thread_id="T")
    own = {"agent_name": "RedStone", "message_id": first}

    read = await harness.call("mark_message_read", **own)
    acknowledged = await harness.call("acknowledge_message", **own)
    reply = await harness.call("reply_message", sender_name="RedStone", message_id=first, body_md="yes")
    calm = await harness.call(
        "reply_message", sender_name="RedStone", message_id=first, body_md="yes", importance="low", subject_prefix="Aw:"
    )

    assert (read["read"], acknowledged["acknowledged"]) == (True, True)
    assert (reply["to"], reply["importance"], reply["subject"], reply["reply_to"]) == (
        ["BlueLake"],
        "high",
        "Re: Plan",
        first,
    )
    assert (calm["importance"], calm["subject"]) == ("low", "Aw: Plan")


async def test_an_inbox_is_narrowed_by_thread_topic_urgency_and_what_is_unread(harness: MessagingHarness) -> None:
    plain = await harness.sent_id()
    kept = await harness.sent_id(importance="urgent", topic="build", thread_id="T")
    await harness.call("mark_message_read", agent_name="RedStone", message_id=plain)

    narrowed = [
        await harness.inbox("RedStone", **by)
        for by in ({"thread_id": "T"}, {"topic": "build"}, {"urgent_only": True}, {"unread_only": True})
    ]

    assert [[item["id"] for item in items] for items in narrowed] == [[kept]] * 4


async def test_a_topic_is_fetched_with_bodies_unless_they_are_not_wanted(harness: MessagingHarness) -> None:
    await harness.sent_id(topic="build", body_md="text")

    (whole,) = await harness.call("fetch_topic", topic_name="build")
    (bare,) = await harness.call("fetch_topic", topic_name="build", include_bodies=False)

    assert (whole["body_md"], "body_md" in bare) == ("text", False)

"""Inboxes that hold no more unread mail than the operator allows."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mcp_agent_mail.core.errors import QuotaExceeded
from tests.features.messaging.harness import LIB, MessagingHarness, open_messaging

LIMIT = 2


@pytest.fixture
async def harness(tmp_path: Path) -> AsyncIterator[MessagingHarness]:
    async with open_messaging(tmp_path, inbox_limit=LIMIT) as opened:
        yield opened


async def fill(harness: MessagingHarness, name: str = "RedStone") -> int:
    """Up to the limit; the last one's id."""
    for _ in range(LIMIT - 1):
        await harness.send(to=[name])
    return await harness.sent_id(to=[name])


async def test_a_full_inbox_refuses_the_whole_message_and_is_named(harness: MessagingHarness) -> None:
    await fill(harness)

    with pytest.raises(QuotaExceeded) as refused:
        await harness.send(to=["GreenField", "RedStone", f"QuietFox@{harness.seeded.lib.slug}"])

    assert refused.value.message == "RedStone has 2 or more unread messages; nothing was sent."
    assert refused.value.data == {"full": ["RedStone"], "limit": LIMIT}
    assert await harness.inbox("GreenField") == []


async def test_several_full_inboxes_are_named_together(harness: MessagingHarness) -> None:
    for name in ("RedStone", "GreenField"):
        await fill(harness, name)

    with pytest.raises(QuotaExceeded) as refused:
        await harness.send(to=["RedStone", "GreenField"])

    assert refused.value.message == "RedStone and GreenField have 2 or more unread messages; nothing was sent."


async def test_one_read_makes_room_for_one(harness: MessagingHarness) -> None:
    last = await fill(harness)
    await harness.call("mark_message_read", agent_name="RedStone", message_id=last)

    await harness.send(subject="There is room")

    with pytest.raises(QuotaExceeded):
        await harness.send()
    assert (await harness.inbox("RedStone"))[0]["subject"] == "There is room"


async def test_an_inbox_of_another_project_is_named_as_one_writes_to_it(harness: MessagingHarness) -> None:
    address = f"QuietFox@{harness.seeded.lib.slug}"
    await fill(harness, address)

    with pytest.raises(QuotaExceeded) as refused:
        await harness.send(to=[], bcc=[address])

    assert refused.value.data["full"] == [address]


async def test_a_reply_is_held_to_the_limit_too(harness: MessagingHarness) -> None:
    question = await harness.sent_id(sender_name="GreenField")
    await harness.send(sender_name="RedStone", to=["GreenField"])
    await harness.send(sender_name="RedStone", to=["GreenField"])

    with pytest.raises(QuotaExceeded):
        await harness.call("reply_message", sender_name="RedStone", message_id=question, body_md="Yes")


async def test_a_broadcast_leaves_full_inboxes_out(harness: MessagingHarness) -> None:
    await fill(harness)

    sent = await harness.send(to=[], broadcast=True)

    assert [skipped["code"] for skipped in sent["skipped"] if skipped["agent"] == "RedStone"] == ["QUOTA_EXCEEDED"]
    assert len(await harness.inbox("RedStone")) == LIMIT
    assert len(await harness.inbox("GreenField")) == 1


async def test_a_burst_does_not_slip_past_the_limit(harness: MessagingHarness) -> None:
    results = await asyncio.gather(*(harness.send() for _ in range(20)), return_exceptions=True)

    assert sum(isinstance(result, QuotaExceeded) for result in results) == 20 - LIMIT
    assert len(await harness.inbox("RedStone")) == LIMIT


async def test_without_a_limit_an_inbox_takes_everything(tmp_path: Path) -> None:
    async with open_messaging(tmp_path) as open_house:
        for _ in range(LIMIT + 1):
            await open_house.send(to=["QuietFox@" + LIB])

        assert len(await open_house.inbox("QuietFox", project_key=LIB)) == LIMIT + 1


async def test_blind_copies_fill_no_inbox_for_open_mail(harness: MessagingHarness) -> None:
    """Else whoever is refused would know that there are some."""
    for _ in range(LIMIT):
        await harness.send(to=[], bcc=["RedStone"])

    await harness.send(subject="There is room")

    with pytest.raises(QuotaExceeded):
        await harness.send(to=[], bcc=["RedStone"])
    assert (await harness.inbox("RedStone"))[0]["subject"] == "There is room"


async def test_a_full_inbox_tells_nobody_of_blind_copies_of_others(harness: MessagingHarness) -> None:
    for _ in range(LIMIT):
        await harness.send(to=[], bcc=["RedStone"])

    for _ in range(LIMIT):
        await harness.send(sender_name="GreenField", to=[], bcc=["RedStone"])

    with pytest.raises(QuotaExceeded):
        await harness.send(sender_name="GreenField", to=[], bcc=["RedStone"])

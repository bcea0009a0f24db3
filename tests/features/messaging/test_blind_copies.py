"""I7: nobody but the proven sender and the blind recipient itself ever learns of a blind copy."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcp_agent_mail.core.errors import NotFound
from tests.features.messaging.harness import APP, LIB, NOBODY, OPERATOR, MessagingHarness


async def test_a_blind_recipient_is_named_nowhere_but_to_the_proven_sender(harness: MessagingHarness) -> None:
    seeded = harness.seeded
    sent = await harness.send(bcc=["GreenField", f"QuietFox@{LIB}"], thread_id="T", topic="b", importance="urgent")
    message_id = sent["deliveries"][0]["payload"]["id"]

    shown: list[Any] = []
    for credentials in (NOBODY, harness.proof(seeded.red), harness.proof(seeded.green)):
        shown += [
            await harness.read(f"message/{message_id}?project={APP}", credentials),
            await harness.read(f"thread/T?project={APP}", credentials),
            await harness.read(f"outbox/BlueLake?project={APP}", credentials),
            await harness.call("fetch_topic", credentials, topic_name="b"),
        ]
    for uri in ("inbox/RedStone", "mailbox/RedStone", "views/urgent-unread/RedStone"):
        shown.append(await harness.read(uri, harness.proof(seeded.red)))
    shown.append(await harness.read("inbox/GreenField", harness.proof(seeded.green)))
    reply = await harness.call("reply_message", message_id=message_id, sender_name="RedStone", body_md="")

    text = json.dumps(shown)
    assert "QuietFox" not in text
    assert text.count("GreenField") == 1, "its own inbox names its owner"
    assert "bcc" not in json.dumps(shown[:-1])
    assert "GreenField" not in json.dumps(reply)


async def test_the_sender_sees_blind_recipients_when_it_proves_itself(harness: MessagingHarness) -> None:
    await harness.send(bcc=["GreenField", f"QuietFox@{LIB}"])

    async def bcc(credentials: Any) -> Any:
        outbox = await harness.read(f"outbox/BlueLake?project={APP}", credentials)
        return outbox["messages"][0].get("bcc")

    assert await bcc(harness.proof(harness.seeded.blue)) == ["GreenField", "QuietFox@code-lib"]
    assert await bcc(OPERATOR) == ["GreenField", "QuietFox@code-lib"]
    assert await bcc(NOBODY) is None
    assert await bcc(harness.proof(harness.seeded.red)) is None


async def test_a_blind_recipient_gets_the_mail_and_sees_no_other_blind_recipient(harness: MessagingHarness) -> None:
    await harness.send(bcc=["GreenField", f"QuietFox@{LIB}"])

    green = await harness.inbox("GreenField", include_bodies=True)
    fox = await harness.inbox("QuietFox", project_key=LIB, include_bodies=True)

    assert [(item["kind"], item["body_md"], "bcc" in item) for item in (*green, *fox)] == [("bcc", "body", False)] * 2


async def test_a_project_that_only_a_blind_recipient_belongs_to_never_learns_of_the_message(
    harness: MessagingHarness,
) -> None:
    seeded = harness.seeded
    message_id = await harness.sent_id(bcc=[f"QuietFox@{LIB}"], thread_id="T", topic="b")

    assert await harness.call("fetch_topic", project_key=LIB, topic_name="b") == []
    for uri in (f"thread/T?project={LIB}", f"message/{message_id}?project={LIB}", f"thread/{message_id}?project={LIB}"):
        for credentials in (NOBODY, harness.proof(seeded.lib_blue)):
            with pytest.raises(NotFound):
                await harness.read(uri, credentials)
    with pytest.raises(NotFound):
        await harness.read(f"message/{message_id}", harness.proof(seeded.lib_blue))
    assert (await harness.read(f"message/{message_id}", harness.proof(seeded.fox)))["project"] == LIB


async def test_no_listing_tells_that_a_message_has_blind_recipients(harness: MessagingHarness) -> None:
    await harness.send(subject="same")
    await harness.send(subject="same", bcc=["GreenField"])

    outbox = await harness.read(f"outbox/BlueLake?project={APP}")
    items = [{**item, "id": 0} for item in outbox["messages"]]

    assert items[0] == items[1]

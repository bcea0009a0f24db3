"""I7: nobody but the proven sender and the blind recipient itself ever learns of a blind copy."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcp_agent_mail.core.errors import NotFound
from tests.features.messaging.office import APP, LIB, NOBODY, OPERATOR, Office


async def test_a_blind_recipient_is_named_nowhere_but_to_the_proven_sender(office: Office) -> None:
    room = office.room
    sent = await office.send(bcc=["GreenField", f"QuietFox@{LIB}"], thread_id="T", topic="b", importance="urgent")
    message_id = sent["deliveries"][0]["payload"]["id"]

    shown: list[Any] = []
    for credentials in (NOBODY, office.proof(room.red), office.proof(room.green)):
        shown += [
            await office.read(f"message/{message_id}?project={APP}", credentials),
            await office.read(f"thread/T?project={APP}", credentials),
            await office.read(f"outbox/BlueLake?project={APP}", credentials),
            await office.call("fetch_topic", credentials, topic_name="b"),
        ]
    for uri in ("inbox/RedStone", "mailbox/RedStone", "views/urgent-unread/RedStone"):
        shown.append(await office.read(uri, office.proof(room.red)))
    shown.append(await office.read("inbox/GreenField", office.proof(room.green)))
    reply = await office.call("reply_message", message_id=message_id, sender_name="RedStone", body_md="")

    text = json.dumps(shown)
    assert "QuietFox" not in text
    assert text.count("GreenField") == 1, "its own inbox names its owner"
    assert "bcc" not in json.dumps(shown[:-1])
    assert "GreenField" not in json.dumps(reply)


async def test_the_sender_sees_blind_recipients_when_it_proves_itself(office: Office) -> None:
    await office.send(bcc=["GreenField", f"QuietFox@{LIB}"])

    async def bcc(credentials: Any) -> Any:
        outbox = await office.read(f"outbox/BlueLake?project={APP}", credentials)
        return outbox["messages"][0].get("bcc")

    assert await bcc(office.proof(office.room.blue)) == ["GreenField", "QuietFox@code-lib"]
    assert await bcc(OPERATOR) == ["GreenField", "QuietFox@code-lib"]
    assert await bcc(NOBODY) is None
    assert await bcc(office.proof(office.room.red)) is None


async def test_a_blind_recipient_gets_the_mail_and_sees_no_other_blind_recipient(office: Office) -> None:
    await office.send(bcc=["GreenField", f"QuietFox@{LIB}"])

    green = await office.inbox("GreenField", include_bodies=True)
    fox = await office.inbox("QuietFox", project_key=LIB, include_bodies=True)

    assert [(item["kind"], item["body_md"], "bcc" in item) for item in (*green, *fox)] == [("bcc", "body", False)] * 2


async def test_a_project_that_only_a_blind_recipient_belongs_to_never_learns_of_the_message(office: Office) -> None:
    room = office.room
    message_id = await office.sent_id(bcc=[f"QuietFox@{LIB}"], thread_id="T", topic="b")

    assert await office.call("fetch_topic", project_key=LIB, topic_name="b") == []
    for uri in (f"thread/T?project={LIB}", f"message/{message_id}?project={LIB}", f"thread/{message_id}?project={LIB}"):
        for credentials in (NOBODY, office.proof(room.lib_blue)):
            with pytest.raises(NotFound):
                await office.read(uri, credentials)
    with pytest.raises(NotFound):
        await office.read(f"message/{message_id}", office.proof(room.lib_blue))
    assert (await office.read(f"message/{message_id}", office.proof(room.fox)))["project"] == LIB


async def test_no_listing_tells_that_a_message_has_blind_recipients(office: Office) -> None:
    await office.send(subject="same")
    await office.send(subject="same", bcc=["GreenField"])

    outbox = await office.read(f"outbox/BlueLake?project={APP}")
    items = [{**item, "id": 0} for item in outbox["messages"]]

    assert items[0] == items[1]

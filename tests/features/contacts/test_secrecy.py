"""Held mail exists for its sender alone, a blind copy's consent for nobody else, on every surface there is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.core.tools import Credentials
from mcp_agent_mail.domain.contacts import MAX_HELD_OF_MESSAGE, MAX_HELD_OF_PAIR
from mcp_agent_mail.store.checks.integrity import find_faults
from tests.features.contacts.house import LIB, NOBODY, House, refused
from tests.mailroom import add_agent

WORD = "xylophone"


async def surfaces(house: House, credentials: Credentials, of: str) -> dict[str, Any]:
    """Whatever an agent can look at, as text."""
    shown: dict[str, Any] = {
        "inbox": await house.call("fetch_inbox", credentials, agent_name=of, include_bodies=True),
        "topic": await house.call("fetch_topic", credentials, topic_name="secret"),
        "search": await house.call("search_messages", credentials, query=WORD),
        "search of sender": await house.call("search_messages", credentials, query=WORD, from_agent="BlueLake"),
        "outbox": await house.read("outbox/BlueLake?project=code-app&include_bodies=true", credentials),
    }
    for uri in ("message/1?project=code-app", "thread/T-1?project=code-app&include_bodies=true"):
        try:
            shown[uri] = await house.read(uri, credentials)
        except AgentMailError as error:
            shown[uri] = str(error)
    return {name: str(value) for name, value in shown.items()}


def showing(shown: dict[str, str]) -> list[str]:
    return sorted(name for name, text in shown.items() if WORD in text)


async def hold(house: House, **more: Any) -> Any:
    await house.policy("RedStone", "contacts_only")
    given = {"subject": f"about {WORD}", "body_md": WORD, "topic": "secret", "thread_id": "T-1", **more}
    return await house.send(**given)


async def test_held_mail_is_seen_by_its_sender_alone(house: House) -> None:
    await hold(house)

    room = house.room
    others = [(house.proof(room.red), "RedStone"), (house.proof(room.green), "GreenField"), (NOBODY, "GreenField")]
    assert [showing(await surfaces(house, proof, name)) for proof, name in others] == [[], [], []]
    assert showing(await surfaces(house, house.proof(room.blue), "BlueLake")) == [
        "message/1?project=code-app",
        "outbox",
        "search",
        "search of sender",
    ]


async def test_its_sender_sees_for_whom_it_is_held_and_who_returned_it(house: House) -> None:
    await hold(house)
    proof = house.proof(house.room.blue)
    held = await house.read("outbox/BlueLake?project=code-app", proof)
    await house.answer(accept=False)

    refused_now = await house.read("outbox/BlueLake?project=code-app", proof)

    assert [item["held"] for item in held["messages"] if "held" in item] == [["RedStone"]]
    assert [item["refused"] for item in refused_now["messages"] if "refused" in item] == [["RedStone"]]


async def test_returned_mail_stays_unseen(house: House) -> None:
    await hold(house)
    await house.answer(accept=False)

    assert showing(await surfaces(house, house.proof(house.room.red), "RedStone")) == []
    assert showing(await surfaces(house, house.proof(house.room.green), "GreenField")) == []


async def test_delivered_mail_is_found_everywhere_after_its_approval(house: House) -> None:
    await hold(house)
    await house.send(to=["GreenField"], subject="newer", topic="secret")
    since = house.room.clock.now
    house.room.clock.step()

    await house.answer(accept=True)

    shown = await surfaces(house, house.proof(house.room.red), "RedStone")
    assert len(showing(shown)) == 7
    late = await house.call("fetch_topic", topic_name="secret", since_ts=since / 1_000_000)
    found = await house.call("search_messages", query=WORD, since_ts=since / 1_000_000)
    assert [item["id"] for item in late] == [item["id"] for item in found["result"]] == [1]


async def test_a_held_message_can_neither_be_read_acknowledged_nor_answered_by_its_recipient(house: House) -> None:
    await hold(house)

    mark = await house.call("mark_message_read", agent_name="RedStone", message_id=1)
    error = await refused(house.call("reply_message", sender_name="RedStone", message_id=1, body_md="?"))
    cursor = await refused(house.call("fetch_inbox", agent_name="RedStone", after_id=1))

    assert (mark["read"], error.code, cursor.code) == (False, "NOT_FOUND", "NOT_FOUND")


async def test_a_message_delivered_to_some_is_project_mail_and_held_for_the_others(house: House) -> None:
    await hold(house, to=["GreenField"], cc=["RedStone"])

    topic = await house.call("fetch_topic", house.proof(house.room.green), topic_name="secret")

    assert [item["id"] for item in topic] == [1]
    assert await house.subjects("RedStone") == ["Contact request from BlueLake"]


async def test_another_project_learns_nothing_of_mail_held_for_its_agent(house: House) -> None:
    await house.send(to=["GreenField", f"QuietFox@{LIB}"], topic="secret", body_md=WORD)

    there = house.proof(house.room.lib_blue)
    topic = await house.call("fetch_topic", there, project_key=LIB, topic_name="secret")
    found = await house.call("search_messages", there, project_key=LIB, query=WORD)
    error = await refused(house.read("message/1?project=code-lib", there))

    assert (topic, found["result"], error.code) == ([], [], "NOT_FOUND")


@pytest.mark.parametrize("accept", [True, False])
async def test_the_consent_that_a_blind_copy_needs_is_told_to_nobody_else(house: House, accept: bool) -> None:
    """The request it makes is for the blind recipient's eyes alone, and so is what comes of it for the sender's."""
    await hold(house, to=["GreenField"], bcc=["RedStone"])
    await house.answer(accept=accept)
    green = house.proof(house.room.green)

    found = [await house.call("search_messages", green, query=word) for word in ("contact", "approve", "declined")]
    sent = await house.read("outbox/BlueLake?project=code-app", green)

    assert [answer["result"] for answer in found] == [[], [], []]
    assert [item["subject"] for item in sent["messages"]] == [f"about {WORD}"]
    assert "RedStone" not in str(await surfaces(house, green, "GreenField"))


async def test_so_much_waits_of_one_sender_and_no_more(house: House) -> None:
    await house.policy("RedStone", "contacts_only")
    for _ in range(MAX_HELD_OF_PAIR):
        await house.send()
    before = house.everything()

    error = await refused(house.send(to=["GreenField", "RedStone"]))

    assert error.code == "QUOTA_EXCEEDED"
    assert error.data["reason"].startswith("RedStone takes mail from its contacts only")
    assert house.everything() == before
    await house.send(sender_name="GreenField")


async def test_so_many_recipients_of_one_message_are_asked_and_no_more(house: House) -> None:
    room = house.room
    names = [f"Closed{number}" for number in range(MAX_HELD_OF_MESSAGE + 1)]
    await room.store.write(lambda tx: [add_agent(tx, room.app, name) for name in names])
    for name in names:
        await house.policy(name, "contacts_only")
    before = house.everything()

    error = await refused(house.send(to=names))

    assert (error.code, error.data["max"]) == ("QUOTA_EXCEEDED", MAX_HELD_OF_MESSAGE)
    assert house.everything() == before
    assert len((await house.send(to=names[1:]))["held"]) == MAX_HELD_OF_MESSAGE


async def test_large_bodies_fill_the_queue_sooner_and_one_always_fits(house: House) -> None:
    await house.policy("RedStone", "contacts_only")
    await house.send(body_md="x" * (3 * 1024 * 1024))

    assert (await refused(house.send())).code == "QUOTA_EXCEEDED"


async def test_messages_to_many_fill_the_queue_sooner(house: House) -> None:
    room = house.room
    names = [f"Open{number}" for number in range(499)]
    await room.store.write(lambda tx: [add_agent(tx, room.app, name) for name in names])
    await house.policy("RedStone", "contacts_only")
    for _ in range(4):
        await house.send(to=["RedStone", *names])

    assert (await refused(house.send())).code == "QUOTA_EXCEEDED"
    assert len((await house.answer(accept=True))["delivered"]) == 4


async def test_the_store_is_sound_with_mail_held_delivered_and_returned(house: House) -> None:
    await hold(house)
    await house.answer(accept=True)
    await house.policy("GreenField", "contacts_only")
    await house.send(to=["GreenField"])
    await house.answer(accept=False, target="GreenField")
    await house.send(to=[f"QuietFox@{LIB}"])

    (path,) = {row[2] for row in house.rows("PRAGMA database_list")}
    assert find_faults(Path(path)) == []

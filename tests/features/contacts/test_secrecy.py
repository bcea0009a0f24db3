"""Held mail exists for its sender alone, a blind copy's consent for nobody else, on every surface there is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.core.tools import Credentials
from mcp_agent_mail.store.checks.integrity import find_faults
from tests.features.contacts.harness import LIB, NOBODY, ContactsHarness, refused

WORD = "xylophone"


async def surfaces(harness: ContactsHarness, credentials: Credentials, of: str) -> dict[str, Any]:
    """Whatever an agent can look at, as text."""
    shown: dict[str, Any] = {
        "inbox": await harness.call("fetch_inbox", credentials, agent_name=of, include_bodies=True),
        "topic": await harness.call("fetch_topic", credentials, topic_name="secret"),
        "search": await harness.call("search_messages", credentials, query=WORD),
        "search of sender": await harness.call("search_messages", credentials, query=WORD, from_agent="BlueLake"),
        "outbox": await harness.read("outbox/BlueLake?project=code-app&include_bodies=true", credentials),
    }
    for uri in ("message/1?project=code-app", "thread/T-1?project=code-app&include_bodies=true"):
        try:
            shown[uri] = await harness.read(uri, credentials)
        except AgentMailError as error:
            shown[uri] = str(error)
    return {name: str(value) for name, value in shown.items()}


def showing(shown: dict[str, str]) -> list[str]:
    return sorted(name for name, text in shown.items() if WORD in text)


async def hold(harness: ContactsHarness, **more: Any) -> Any:
    await harness.policy("RedStone", "contacts_only")
    given = {"subject": f"about {WORD}", "body_md": WORD, "topic": "secret", "thread_id": "T-1", **more}
    return await harness.send(**given)


async def test_held_mail_is_seen_by_its_sender_alone(harness: ContactsHarness) -> None:
    await hold(harness)

    seeded = harness.seeded
    others = [
        (harness.proof(seeded.red), "RedStone"),
        (harness.proof(seeded.green), "GreenField"),
        (NOBODY, "GreenField"),
    ]
    assert [showing(await surfaces(harness, proof, name)) for proof, name in others] == [[], [], []]
    assert showing(await surfaces(harness, harness.proof(seeded.blue), "BlueLake")) == [
        "message/1?project=code-app",
        "outbox",
        "search",
        "search of sender",
    ]


async def test_its_sender_sees_for_whom_it_is_held_and_who_returned_it(harness: ContactsHarness) -> None:
    await hold(harness)
    proof = harness.proof(harness.seeded.blue)
    held = await harness.read("outbox/BlueLake?project=code-app", proof)
    await harness.answer(accept=False)

    refused_now = await harness.read("outbox/BlueLake?project=code-app", proof)

    assert [item["held"] for item in held["messages"] if "held" in item] == [["RedStone"]]
    assert [item["refused"] for item in refused_now["messages"] if "refused" in item] == [["RedStone"]]


async def test_returned_mail_stays_unseen(harness: ContactsHarness) -> None:
    await hold(harness)
    await harness.answer(accept=False)

    assert showing(await surfaces(harness, harness.proof(harness.seeded.red), "RedStone")) == []
    assert showing(await surfaces(harness, harness.proof(harness.seeded.green), "GreenField")) == []


async def test_delivered_mail_is_found_everywhere_after_its_approval(harness: ContactsHarness) -> None:
    await hold(harness)
    await harness.send(to=["GreenField"], subject="newer", topic="secret")
    since = harness.seeded.clock.now
    harness.seeded.clock.step()

    await harness.answer(accept=True)

    shown = await surfaces(harness, harness.proof(harness.seeded.red), "RedStone")
    assert len(showing(shown)) == 7
    late = await harness.call("fetch_topic", topic_name="secret", since_ts=since / 1_000_000)
    found = await harness.call("search_messages", query=WORD, since_ts=since / 1_000_000)
    assert [item["id"] for item in late] == [item["id"] for item in found["result"]] == [1]


async def test_a_held_message_can_neither_be_read_acknowledged_nor_answered_by_its_recipient(
    harness: ContactsHarness,
) -> None:
    await hold(harness)

    mark = await harness.call("mark_message_read", agent_name="RedStone", message_id=1)
    error = await refused(harness.call("reply_message", sender_name="RedStone", message_id=1, body_md="?"))
    cursor = await refused(harness.call("fetch_inbox", agent_name="RedStone", after_id=1))

    assert (mark["read"], error.code, cursor.code) == (False, "NOT_FOUND", "NOT_FOUND")


async def test_a_message_delivered_to_some_is_project_mail_and_held_for_the_others(harness: ContactsHarness) -> None:
    await hold(harness, to=["GreenField"], cc=["RedStone"])

    topic = await harness.call("fetch_topic", harness.proof(harness.seeded.green), topic_name="secret")

    assert [item["id"] for item in topic] == [1]
    assert await harness.subjects("RedStone") == ["Contact request from BlueLake"]


async def test_another_project_learns_nothing_of_mail_held_for_its_agent(harness: ContactsHarness) -> None:
    await harness.send(to=["GreenField", f"QuietFox@{LIB}"], topic="secret", body_md=WORD)

    there = harness.proof(harness.seeded.lib_blue)
    topic = await harness.call("fetch_topic", there, project_key=LIB, topic_name="secret")
    found = await harness.call("search_messages", there, project_key=LIB, query=WORD)
    error = await refused(harness.read("message/1?project=code-lib", there))

    assert (topic, found["result"], error.code) == ([], [], "NOT_FOUND")


@pytest.mark.parametrize("accept", [True, False])
async def test_the_consent_that_a_blind_copy_needs_is_told_to_nobody_else(
    harness: ContactsHarness, accept: bool
) -> None:
    """The request it makes is for the blind recipient's eyes alone, and so is what comes of it for the sender's."""
    await hold(harness, to=["GreenField"], bcc=["RedStone"])
    await harness.answer(accept=accept)
    green = harness.proof(harness.seeded.green)

    found = [await harness.call("search_messages", green, query=word) for word in ("contact", "approve", "declined")]
    sent = await harness.read("outbox/BlueLake?project=code-app", green)

    assert [answer["result"] for answer in found] == [[], [], []]
    assert [item["subject"] for item in sent["messages"]] == [f"about {WORD}"]
    assert "RedStone" not in str(await surfaces(harness, green, "GreenField"))


async def test_the_store_is_sound_with_mail_held_delivered_and_returned(harness: ContactsHarness) -> None:
    await hold(harness)
    await harness.answer(accept=True)
    await harness.policy("GreenField", "contacts_only")
    await harness.send(to=["GreenField"])
    await harness.answer(accept=False, target="GreenField")
    await harness.send(to=[f"QuietFox@{LIB}"])

    (path,) = {row[2] for row in harness.rows("PRAGMA database_list")}
    assert find_faults(Path(path)) == []

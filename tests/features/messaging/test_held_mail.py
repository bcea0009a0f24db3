from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.domain.contacts import MAX_HELD_OF_MESSAGE, MAX_HELD_OF_PAIR, ContactRules
from mcp_agent_mail.features.messaging import held_mail
from tests.features.contacts.harness import APP, LIB, ContactsHarness, open_contacts, refused
from tests.seeded_store import add_agent


@pytest.fixture
async def harness(tmp_path: Path) -> AsyncIterator[ContactsHarness]:
    """Contacts and mail, where consent is asked for."""
    async with open_contacts(tmp_path) as opened:
        yield opened


async def test_mail_to_an_agent_that_wants_contacts_only_is_held_and_a_request_made(harness: ContactsHarness) -> None:
    await harness.policy("RedStone", "contacts_only")

    answer = await harness.send(to=["RedStone", "GreenField"])

    (delivery,) = answer["deliveries"]
    assert [(one["name"], one["status"]) for one in delivery["payload"]["recipients"]] == [
        ("RedStone", "held"),
        ("GreenField", "delivered"),
    ]
    assert answer["held"] == [
        {
            "agent": "RedStone",
            "code": "CONTACT_REQUIRED",
            "reason": "RedStone takes mail from its contacts only",
        }
    ]
    assert await harness.subjects("GreenField") == ["Plan"]
    assert await harness.subjects("RedStone") == ["Contact request from BlueLake"]
    assert [(one["direction"], one["from"], one["status"]) for one in await harness.links("RedStone")] == [
        ("inbound", "BlueLake", "pending")
    ]


async def test_without_holding_the_message_is_refused_with_the_exact_call(harness: ContactsHarness) -> None:
    await harness.policy("RedStone", "contacts_only")
    before = harness.everything()

    error = await refused(harness.send(to=["GreenField", "RedStone"], auto_contact_if_blocked=False))

    assert error.code == "CONTACT_REQUIRED"
    (call,) = error.data["suggested_tool_calls"]
    assert harness.everything() == before
    await harness.tools.run(call["tool"], call["arguments"], harness.proof(harness.seeded.blue))
    assert (await harness.links("BlueLake"))[0]["status"] == "pending"


async def test_the_call_that_asks_across_projects_says_in_which(harness: ContactsHarness) -> None:
    await harness.policy("RedStone", "contacts_only")

    error = await refused(harness.send(to=[f"QuietFox@{LIB}", "RedStone"], auto_contact_if_blocked=False))

    assert error.message == (
        "QuietFox takes mail from its contacts and agents of its own project only and "
        "RedStone takes mail from its contacts only; nothing was sent."
    )
    across, here = (call["arguments"] for call in error.data["suggested_tool_calls"])
    assert (across["to_agent"], here["to_agent"]) == (f"QuietFox@{harness.seeded.lib.slug}", "RedStone")
    assert error.hint.startswith(
        f'Ask first: request_contact(project_key="{APP}", from_agent="BlueLake", to_agent="{across["to_agent"]}"), or '
    )


async def test_who_has_been_asked_already_is_not_to_be_asked_first(harness: ContactsHarness) -> None:
    for name in ("RedStone", "GreenField"):
        await harness.policy(name, "contacts_only")
    await harness.ask(reason="the parser")

    waiting = await refused(harness.send(to=["RedStone"], auto_contact_if_blocked=False))
    mixed = await refused(harness.send(to=["RedStone", "GreenField"], auto_contact_if_blocked=False))

    assert waiting.hint.startswith("Wait for the answer, or send again with auto_contact_if_blocked=true")
    assert waiting.data["suggested_tool_calls"] == []
    assert [call["arguments"]["to_agent"] for call in mixed.data["suggested_tool_calls"]] == ["GreenField"]


async def test_a_blocking_recipient_refuses_the_whole_message(harness: ContactsHarness) -> None:
    await harness.policy("RedStone", "block_all")
    before = harness.everything()

    error = await refused(harness.send(to=["GreenField", "RedStone"]))

    assert error.code == "CONTACT_BLOCKED"
    assert error.data["suggested_tool_calls"][0]["tool"] == "list_contacts"
    assert harness.everything() == before


async def test_retired_recipients_refuse_the_whole_message_before_any_other_reason(harness: ContactsHarness) -> None:
    seeded = harness.seeded
    await harness.policy("RedStone", "block_all")
    await seeded.store.write(lambda tx: tx.agents.set_retired(seeded.green.id, tx.now, tx.now))
    one = await refused(harness.send(to=["GreenField", "RedStone"]))
    await seeded.store.write(lambda tx: tx.agents.set_retired(seeded.red.id, tx.now, tx.now))

    both = await refused(harness.send(to=["GreenField", "RedStone"]))

    assert (one.code, both.code) == ("RECIPIENT_RETIRED", "RECIPIENT_RETIRED")
    assert one.message == "GreenField is retired; nothing was sent."
    assert both.message == "GreenField and RedStone are retired; nothing was sent."


async def test_a_request_that_stands_keeps_its_reason_and_one_that_mail_makes_says_so(
    harness: ContactsHarness,
) -> None:
    for name in ("RedStone", "GreenField"):
        await harness.policy(name, "contacts_only")
    await harness.ask(reason="the parser")

    await harness.send(to=["RedStone", "GreenField"])

    assert [link["reason"] for link in await harness.links("BlueLake")] == [
        "the parser",
        "It has sent you mail that waits for your approval.",
    ]


async def test_a_retry_never_gets_past_a_refusal(harness: ContactsHarness) -> None:
    await harness.policy("RedStone", "contacts_only")
    for _ in range(3):
        assert (await refused(harness.send(auto_contact_if_blocked=False))).code == "CONTACT_REQUIRED"
    await harness.answer(accept=False)
    for _ in range(3):
        await harness.send()
    assert await harness.subjects("RedStone") == ["Contact request from BlueLake"]


async def test_a_retry_with_its_key_gets_the_first_answer_and_holds_nothing_twice(harness: ContactsHarness) -> None:
    await harness.policy("RedStone", "contacts_only")
    first = await harness.send(idempotency_key="k")

    again = await harness.send(idempotency_key="k")

    assert again == {**first, "idempotent_replay": True}
    assert len(await harness.held("RedStone", "inbound")) == 1


async def test_an_agent_for_whom_too_much_waits_takes_no_more(
    harness: ContactsHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(held_mail, "MAX_HELD_OF_TARGET", 1)
    await harness.policy("RedStone", "contacts_only")
    await harness.send()
    before = harness.everything()

    error = await refused(harness.send(sender_name="GreenField"))

    assert (error.code, error.data["max"]) == ("QUOTA_EXCEEDED", 1)
    assert harness.everything() == before


def is_held(answer: Any) -> bool:
    return bool(answer["held"])


async def test_a_server_may_refuse_where_a_call_does_not_say(tmp_path: Path) -> None:
    async with open_contacts(tmp_path, ContactRules(hold=False)) as harness:
        await harness.policy("RedStone", "contacts_only")

        assert (await refused(harness.send())).code == "CONTACT_REQUIRED"
        assert is_held(await harness.send(auto_contact_if_blocked=True))


async def test_so_much_waits_of_one_sender_and_no_more(harness: ContactsHarness) -> None:
    await harness.policy("RedStone", "contacts_only")
    for _ in range(MAX_HELD_OF_PAIR):
        await harness.send()
    before = harness.everything()

    error = await refused(harness.send(to=["GreenField", "RedStone"]))

    assert error.code == "QUOTA_EXCEEDED"
    assert error.data["reason"].startswith("RedStone takes mail from its contacts only")
    assert harness.everything() == before
    await harness.send(sender_name="GreenField")


async def test_so_many_recipients_of_one_message_are_asked_and_no_more(harness: ContactsHarness) -> None:
    seeded = harness.seeded
    names = [f"Closed{number}" for number in range(MAX_HELD_OF_MESSAGE + 1)]
    await seeded.store.write(lambda tx: [add_agent(tx, seeded.app, name) for name in names])
    for name in names:
        await harness.policy(name, "contacts_only")
    before = harness.everything()

    error = await refused(harness.send(to=names))

    assert (error.code, error.data["max"]) == ("QUOTA_EXCEEDED", MAX_HELD_OF_MESSAGE)
    assert harness.everything() == before
    assert len((await harness.send(to=names[1:]))["held"]) == MAX_HELD_OF_MESSAGE


async def test_large_bodies_fill_the_queue_sooner_and_one_always_fits(harness: ContactsHarness) -> None:
    await harness.policy("RedStone", "contacts_only")
    await harness.send(body_md="x" * (3 * 1024 * 1024))

    assert (await refused(harness.send())).code == "QUOTA_EXCEEDED"


async def test_messages_to_many_fill_the_queue_sooner(harness: ContactsHarness) -> None:
    seeded = harness.seeded
    names = [f"Open{number}" for number in range(499)]
    await seeded.store.write(lambda tx: [add_agent(tx, seeded.app, name) for name in names])
    await harness.policy("RedStone", "contacts_only")
    for _ in range(4):
        await harness.send(to=["RedStone", *names])

    assert (await refused(harness.send())).code == "QUOTA_EXCEEDED"
    assert len((await harness.answer(accept=True))["delivered"]) == 4

from __future__ import annotations

import pytest

from mcp_agent_mail.features.messaging import held_mail
from tests.features.contacts.harness import APP, LIB, ContactsHarness, refused


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


async def test_approval_delivers_what_was_held_in_the_order_of_holding(harness: ContactsHarness) -> None:
    await harness.policy("RedStone", "contacts_only")
    for subject in ("one", "two", "three"):
        await harness.send(subject=subject)
        harness.seeded.clock.step()

    answer = await harness.answer(accept=True)

    assert (answer["approved"], answer["status"], answer["updated"], answer["delivered"]) == (
        True,
        "approved",
        1,
        [1, 3, 4],
    )
    assert await harness.subjects("RedStone") == ["Contact request from BlueLake", "one", "two", "three"]
    assert harness.rows("SELECT unread_count FROM agents WHERE name = 'RedStone'") == [(4,)]
    assert await harness.held("RedStone", "inbound") == []


async def test_denial_returns_what_was_held_and_tells_the_sender_alone(harness: ContactsHarness) -> None:
    await harness.policy("RedStone", "contacts_only")
    await harness.send(subject="secret plan")

    answer = await harness.answer(accept=False)

    assert (answer["approved"], answer["status"], answer["updated"], answer["returned"]) == (False, "blocked", 1, [1])
    assert await harness.subjects("BlueLake") == ["RedStone has declined your contact"]
    inbox = await harness.call("fetch_inbox", agent_name="BlueLake", include_bodies=True)
    assert "message 1: secret plan" in inbox[0]["body_md"]
    found = await harness.call("search_messages", harness.proof(harness.seeded.green), query="secret")
    assert found == {"result": []}
    assert await harness.subjects("RedStone") == ["Contact request from BlueLake"]


async def test_mail_across_projects_is_held_until_approved_and_then_is_mail_of_both(harness: ContactsHarness) -> None:
    answer = await harness.send(to=[f"QuietFox@{LIB}"], topic="build", thread_id="T-1")
    held_topic = await harness.call("fetch_topic", topic_name="build")

    await harness.answer(accept=True, project_key=LIB, target="QuietFox", from_project=APP)

    assert answer["held"][0]["agent"] == "QuietFox"
    assert held_topic == []
    for project in (APP, LIB):
        topic = await harness.call("fetch_topic", project_key=project, topic_name="build")
        assert [item["subject"] for item in topic] == ["Plan"]
    assert await harness.subjects("QuietFox", LIB) == ["Contact request from BlueLake@code-app", "Plan"]


async def test_without_holding_the_message_is_refused_with_the_exact_call(harness: ContactsHarness) -> None:
    await harness.policy("RedStone", "contacts_only")
    before = harness.everything()

    error = await refused(harness.send(to=["GreenField", "RedStone"], auto_contact_if_blocked=False))

    assert error.code == "CONTACT_REQUIRED"
    (call,) = error.data["suggested_tool_calls"]
    assert harness.everything() == before
    await harness.tools.run(call["tool"], call["arguments"], harness.proof(harness.seeded.blue))
    assert (await harness.links("BlueLake"))[0]["status"] == "pending"


async def test_a_blocking_recipient_refuses_the_whole_message(harness: ContactsHarness) -> None:
    await harness.policy("RedStone", "block_all")
    before = harness.everything()

    error = await refused(harness.send(to=["GreenField", "RedStone"]))

    assert error.code == "CONTACT_BLOCKED"
    assert error.data["suggested_tool_calls"][0]["tool"] == "list_contacts"
    assert harness.everything() == before


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


async def test_the_target_sees_who_waits_and_the_sender_for_whom_but_neither_the_body(harness: ContactsHarness) -> None:
    await harness.policy("RedStone", "contacts_only")
    await harness.send(body_md="the body")

    inbound, outbound = await harness.held("RedStone", "inbound"), await harness.held("BlueLake", "outbound")

    assert inbound == outbound
    assert [(one["from"], one["to"], one["subject"], one["code"]) for one in inbound] == [
        ("BlueLake", "RedStone", "Plan", "CONTACT_REQUIRED")
    ]
    assert "the body" not in str(inbound)


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

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from mcp_agent_mail.core.clock import iso
from mcp_agent_mail.core.errors import Conflict, InvalidInput, NotFound, PermissionDenied, RecipientNotFound
from mcp_agent_mail.domain.agents import ContactPolicy
from mcp_agent_mail.domain.identity.caller import AgentAuth
from tests.features.messaging.harness import LIB, MessagingHarness, open_messaging


def receipts(harness: MessagingHarness) -> list[tuple[int, int, str, str]]:
    rows = harness.rows("SELECT project_id, agent_id, snapshot FROM outbox WHERE kind = 'receipt' ORDER BY seq")
    return [(p, a, json.loads(s)["step"], iso(json.loads(s)["ts"])) for p, a, s in rows]


async def test_marking_read_answers_with_the_first_time(harness: MessagingHarness) -> None:
    message_id = await harness.sent_id()
    first = iso(harness.seeded.clock.now)

    answers = []
    for _ in range(2):
        answers.append(await harness.call("mark_message_read", agent_name="redstone", message_id=message_id))
        harness.seeded.clock.step()

    assert answers == [{"message_id": message_id, "read": True, "read_at": first, "verified": False}] * 2
    assert receipts(harness) == [(harness.seeded.app.id, harness.seeded.red.id, "read", first)]


async def test_acknowledging_implies_reading_and_is_one_receipt(harness: MessagingHarness) -> None:
    message_id = await harness.sent_id()
    at = iso(harness.seeded.clock.now)

    answer = await harness.call("acknowledge_message", agent_name="RedStone", message_id=message_id)
    harness.seeded.clock.step()
    again = await harness.call("acknowledge_message", agent_name="RedStone", message_id=message_id)

    assert answer == {
        "message_id": message_id,
        "acknowledged": True,
        "acknowledged_at": at,
        "read_at": at,
        "verified": False,
    }
    assert again == answer
    assert receipts(harness) == [(harness.seeded.app.id, harness.seeded.red.id, "acknowledged", at)]


async def test_acknowledging_mail_read_before_keeps_the_time_of_reading(harness: MessagingHarness) -> None:
    message_id = await harness.sent_id()
    read_at = iso(harness.seeded.clock.now)
    await harness.call("mark_message_read", agent_name="RedStone", message_id=message_id)
    harness.seeded.clock.step()

    answer = await harness.call("acknowledge_message", agent_name="RedStone", message_id=message_id)

    assert (answer["read_at"], answer["acknowledged_at"]) == (read_at, iso(harness.seeded.clock.now))
    assert [step for _, _, step, _ in receipts(harness)] == ["read", "acknowledged"]


async def test_an_answer_to_what_was_acknowledged_before_is_no_second_receipt(harness: MessagingHarness) -> None:
    message_id = await harness.sent_id(ack_required=True)
    await harness.call("acknowledge_message", agent_name="RedStone", message_id=message_id)
    before = receipts(harness)
    harness.seeded.clock.step()

    await harness.call("reply_message", message_id=message_id, sender_name="RedStone", body_md="Done")

    assert len(before) == 1
    assert receipts(harness) == before


@pytest.mark.parametrize("tool", ["mark_message_read", "acknowledge_message"])
async def test_a_receipt_is_two_looks_and_three_changes_and_no_message_is_read_for_it(
    harness: MessagingHarness, tool: str
) -> None:
    message_id = await harness.sent_id(ack_required=True)

    with harness.written() as statements:
        await harness.call(tool, agent_name="RedStone", message_id=message_id)

    unit = ["SAVEPOINT", "SELECT", "SELECT", "UPDATE", "UPDATE", "INSERT", "RELEASE"]
    assert list(statements.values()) == ["BEGIN", *unit, "COMMIT"]
    assert not any("body_md" in sql for sql in statements)


@pytest.mark.parametrize("agent", ["BlueLake", "GreenField"])
async def test_only_a_recipient_may_and_anybody_else_changes_nothing(harness: MessagingHarness, agent: str) -> None:
    message_id = await harness.sent_id()

    for number in (message_id, 999):
        read = await harness.call("mark_message_read", agent_name=agent, message_id=number)
        acked = await harness.call("acknowledge_message", agent_name=agent, message_id=number)
        assert (read["read"], read["read_at"]) == (False, None)
        assert (acked["acknowledged"], acked["acknowledged_at"], acked["read_at"]) == (False, None, None)
    assert receipts(harness) == []
    assert harness.rows("SELECT sum(unread_count) FROM agents") == [(1,)]


async def test_a_receipt_belongs_to_the_recipients_project(harness: MessagingHarness) -> None:
    message_id = await harness.sent_id(to=[f"QuietFox@{LIB}"])

    await harness.call("mark_message_read", project_key=LIB, agent_name="QuietFox", message_id=message_id)

    assert [(project, agent) for project, agent, _, _ in receipts(harness)] == [
        (harness.seeded.lib.id, harness.seeded.fox.id)
    ]


async def test_a_receipt_is_given_as_the_agent_itself(harness: MessagingHarness) -> None:
    message_id = await harness.sent_id()

    with pytest.raises(PermissionDenied):
        await harness.call(
            "acknowledge_message", harness.proof(harness.seeded.blue), agent_name="RedStone", message_id=message_id
        )
    with pytest.raises(PermissionDenied):
        await harness.call("mark_message_read", agent_name="Human", message_id=message_id)
    with pytest.raises(NotFound):
        await harness.call("mark_message_read", agent_name="Nobody", message_id=message_id)


async def test_an_archived_project_takes_no_receipts(harness: MessagingHarness) -> None:
    message_id = await harness.sent_id()
    await harness.seeded.store.write(lambda tx: tx.projects.set_archived(harness.seeded.app.id, tx.now))

    with pytest.raises(Conflict):
        await harness.call("mark_message_read", agent_name="RedStone", message_id=message_id)


async def test_the_answer_says_verified_only_where_names_are_taken_at_their_word(harness: MessagingHarness) -> None:
    message_id = await harness.sent_id()
    red = harness.proof(harness.seeded.red)

    proven = await harness.call("mark_message_read", red, agent_name="RedStone", message_id=message_id)
    harness.identities.auth = AgentAuth.STRICT
    strict = await harness.call("acknowledge_message", red, agent_name="RedStone", message_id=message_id)

    assert proven["verified"] is True
    assert "verified" not in strict


async def test_a_list_is_marked_at_once_and_each_is_answered_in_its_order(harness: MessagingHarness) -> None:
    first, second = await harness.sent_id(), await harness.sent_id(ack_required=True)
    others = await harness.sent_id(to=["GreenField"])
    hidden = await harness.sent_id(to=["BlueLake"], project_key=LIB, sender_name="QuietFox")
    at = iso(harness.seeded.clock.now)

    asked = [second, 999, first, others, hidden, second]
    answer = await harness.call("mark_message_read", agent_name="RedStone", message_ids=asked)

    assert answer == {
        "results": [
            {"message_id": second, "read": True, "read_at": at},
            {"message_id": 999, "read": False, "read_at": None, "reason": "no_such_message"},
            {"message_id": first, "read": True, "read_at": at},
            {"message_id": others, "read": False, "read_at": None, "reason": "not_a_recipient"},
            {"message_id": hidden, "read": False, "read_at": None, "reason": "no_such_message"},
        ],
        "verified": False,
    }
    assert [(agent, step) for _, agent, step, _ in receipts(harness)] == [(harness.seeded.red.id, "read")] * 2


async def test_a_list_is_acknowledged_with_the_time_of_reading_beside(harness: MessagingHarness) -> None:
    ids = [await harness.sent_id(ack_required=True) for _ in range(2)]
    at = iso(harness.seeded.clock.now)

    answer = await harness.call("acknowledge_message", agent_name="RedStone", message_ids=str(ids))
    harness.seeded.clock.step()
    again = await harness.call("acknowledge_message", agent_name="RedStone", message_ids=ids)

    times = {"acknowledged": True, "acknowledged_at": at, "read_at": at}
    assert answer == again == {"results": [{"message_id": one, **times} for one in ids], "verified": False}
    assert [step for _, _, step, _ in receipts(harness)] == ["acknowledged"] * 2


@pytest.mark.parametrize("tool", ["mark_message_read", "acknowledge_message"])
@pytest.mark.parametrize("said", [{}, {"message_id": 1, "message_ids": [1]}, {"message_ids": []}])
async def test_one_message_or_a_list_is_named_and_not_both(
    harness: MessagingHarness, tool: str, said: dict[str, object]
) -> None:
    await harness.sent_id()

    with pytest.raises(InvalidInput):
        await harness.call(tool, agent_name="RedStone", **said)
    with pytest.raises(InvalidInput):
        await harness.call(tool, agent_name="RedStone", message_ids=list(range(1, 202)))
    assert receipts(harness) == []


async def test_mail_that_waits_for_consent_is_held_for_its_recipient_and_nothing_for_others(tmp_path: Path) -> None:
    async with open_messaging(tmp_path, enforced=True) as harness:
        seeded = harness.seeded
        policy = ContactPolicy.CONTACTS_ONLY
        await seeded.store.write(lambda tx: tx.agents.set_contact_policy(seeded.red.id, policy, tx.now))
        sent = await harness.send()
        held = sent["deliveries"][0]["payload"]["id"]
        assert [one["agent"] for one in sent["held"]] == ["RedStone"]

        why = {}
        for name in ("RedStone", "GreenField", "BlueLake"):
            answer = await harness.call("acknowledge_message", agent_name=name, message_id=held)
            why[name] = (answer["acknowledged"], answer["reason"])
            assert ("respond_contact" in answer.get("hint", "")) is (name == "RedStone")

        assert why == {
            "RedStone": (False, "held"),
            "GreenField": (False, "no_such_message"),
            "BlueLake": (False, "not_a_recipient"),
        }


async def test_fetching_marks_what_it_returns_and_nothing_else_when_it_is_asked_to(harness: MessagingHarness) -> None:
    first, second, third = [await harness.sent_id() for _ in range(3)]
    await harness.call("mark_message_read", agent_name="RedStone", message_id=second)
    harness.seeded.clock.step()
    at = iso(harness.seeded.clock.now)

    before = await harness.inbox("RedStone", limit=2)
    marked = await harness.inbox("RedStone", limit=2, mark_read=True)
    after = await harness.inbox("RedStone")

    assert ["read_at" in item for item in before] == [False, True]
    assert [item["id"] for item in marked] == [third, second]
    assert (marked[0]["read_at"], marked[1]["read_at"] < at) == (at, True)
    assert [(item["id"], "read_at" in item) for item in after] == [(third, True), (second, True), (first, False)]
    assert marked.beside == {"total": 3, "unread_count": 1, "ack_pending": 0, "urgent_unread": 0}
    assert [number for (number,) in harness.rows("SELECT message_id FROM outbox WHERE kind = 'receipt'")] == [
        second,
        third,
    ]


async def test_a_page_that_is_marked_twice_is_one_receipt_each(harness: MessagingHarness) -> None:
    await harness.sent_id()
    first = await harness.inbox("RedStone", mark_read=True)
    harness.seeded.clock.step()

    again = await harness.inbox("RedStone", mark_read=True)

    assert [{**item, "age_s": 0} for item in again] == first
    assert len(receipts(harness)) == 1


async def test_only_the_agent_itself_marks_by_fetching(harness: MessagingHarness) -> None:
    await harness.sent_id()

    with pytest.raises(PermissionDenied):
        await harness.call("fetch_inbox", harness.proof(harness.seeded.blue), agent_name="RedStone", mark_read=True)
    await harness.seeded.store.write(lambda tx: tx.projects.set_archived(harness.seeded.app.id, tx.now))
    with pytest.raises(Conflict):
        await harness.inbox("RedStone", mark_read=True)

    assert receipts(harness) == []
    assert harness.rows("SELECT sum(unread_count) FROM agents") == [(1,)]


async def test_a_reply_has_read_what_it_answers_and_acknowledges_it_when_it_says_so(harness: MessagingHarness) -> None:
    first, second = await harness.sent_id(ack_required=True), await harness.sent_id(ack_required=True)
    given = {"sender_name": "RedStone", "body_md": "Done"}

    plain = await harness.call("reply_message", message_id=first, **given)
    asked = await harness.call("reply_message", message_id=second, acknowledge=True, **given)

    assert ("acknowledged" in plain, asked["acknowledged"]) == (False, True)
    assert [step for _, _, step, _ in receipts(harness)] == ["read", "acknowledged"]
    assert (await harness.inbox("RedStone")).beside == {
        "total": 2,
        "unread_count": 0,
        "ack_pending": 1,
        "urgent_unread": 0,
    }


async def test_the_repeat_of_a_reply_marks_nothing_anew(harness: MessagingHarness) -> None:
    original = await harness.sent_id(ack_required=True)
    given = {"message_id": original, "sender_name": "RedStone", "body_md": "Done", "acknowledge": True}
    first = await harness.call("reply_message", idempotency_key="k", **given)
    harness.seeded.clock.step()

    again = await harness.call("reply_message", idempotency_key="k", **given)

    assert again == {**first, "idempotent_replay": True}
    assert len(receipts(harness)) == 1


async def test_a_reply_that_is_refused_has_read_nothing(harness: MessagingHarness) -> None:
    original = await harness.sent_id()

    with pytest.raises(RecipientNotFound):
        await harness.call(
            "reply_message", message_id=original, sender_name="RedStone", body_md="", to=["Nobody"], acknowledge=True
        )

    assert receipts(harness) == []


async def test_whoever_answers_mail_of_others_has_nothing_to_mark(harness: MessagingHarness) -> None:
    original = await harness.sent_id()

    answer = await harness.call(
        "reply_message", message_id=original, sender_name="GreenField", body_md="I know", acknowledge=True
    )

    assert answer["acknowledged"] is False
    assert receipts(harness) == []


async def test_of_private_mail_no_commit_will_say_that_it_was_read(harness: MessagingHarness) -> None:
    seeded = harness.seeded
    to_red = seeded.addressed([seeded.red])
    private, _ = await seeded.post(replace(seeded.letter(seeded.blue), is_private=True), *to_red)
    plain, _ = await seeded.post(seeded.letter(seeded.blue), *to_red)

    for message in (private, plain):
        await harness.call("mark_message_read", agent_name="RedStone", message_id=message.id)

    told = [json.loads(snapshot) for (snapshot,) in harness.rows("SELECT snapshot FROM outbox WHERE kind = 'receipt'")]
    untold = [one["message_id"] for one in told if one.get("is_private")]
    assert (len(told), untold) == (2, [private.id])


async def test_of_a_blind_copy_no_commit_will_say_that_it_was_read(harness: MessagingHarness) -> None:
    message_id = await harness.sent_id(to=["RedStone"], bcc=["GreenField"])

    for name in ("RedStone", "GreenField"):
        await harness.call("mark_message_read", agent_name=name, message_id=message_id)

    rows = harness.rows("SELECT agent_id, snapshot FROM outbox WHERE kind = 'receipt'")
    blind = [agent_id for agent_id, snapshot in rows if json.loads(snapshot).get("is_blind")]
    assert (len(rows), blind) == (2, [harness.seeded.green.id])

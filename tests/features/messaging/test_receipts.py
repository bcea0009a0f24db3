from __future__ import annotations

import json

import pytest

from mcp_agent_mail.core.clock import iso
from mcp_agent_mail.core.errors import Conflict, NotFound, PermissionDenied
from mcp_agent_mail.domain.identity.caller import AgentAuth
from tests.features.messaging.harness import LIB, MessagingHarness


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

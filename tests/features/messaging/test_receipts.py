from __future__ import annotations

import json

import pytest

from mcp_agent_mail.core.clock import iso
from mcp_agent_mail.core.errors import Conflict, NotFound, PermissionDenied
from mcp_agent_mail.domain.identity.caller import AgentAuth
from tests.features.messaging.office import LIB, OPERATOR, Office


def receipts(office: Office) -> list[tuple[int, int, str, str]]:
    rows = office.rows("SELECT project_id, agent_id, snapshot FROM outbox WHERE kind = 'receipt' ORDER BY seq")
    return [(p, a, json.loads(s)["step"], iso(json.loads(s)["ts"])) for p, a, s in rows]


async def test_marking_read_answers_with_the_first_time(office: Office) -> None:
    message_id = await office.sent_id()
    first = iso(office.room.clock.now)

    answers = []
    for _ in range(2):
        answers.append(await office.call("mark_message_read", agent_name="redstone", message_id=message_id))
        office.room.clock.step()

    assert answers == [{"message_id": message_id, "read": True, "read_at": first, "verified": False}] * 2
    assert receipts(office) == [(office.room.app.id, office.room.red.id, "read", first)]


async def test_acknowledging_implies_reading_and_is_one_receipt(office: Office) -> None:
    message_id = await office.sent_id()
    at = iso(office.room.clock.now)

    answer = await office.call("acknowledge_message", agent_name="RedStone", message_id=message_id)
    office.room.clock.step()
    again = await office.call("acknowledge_message", agent_name="RedStone", message_id=message_id)

    assert answer == {
        "message_id": message_id,
        "acknowledged": True,
        "acknowledged_at": at,
        "read_at": at,
        "verified": False,
    }
    assert again == answer
    assert receipts(office) == [(office.room.app.id, office.room.red.id, "acknowledged", at)]


async def test_acknowledging_mail_read_before_keeps_the_time_of_reading(office: Office) -> None:
    message_id = await office.sent_id()
    read_at = iso(office.room.clock.now)
    await office.call("mark_message_read", agent_name="RedStone", message_id=message_id)
    office.room.clock.step()

    answer = await office.call("acknowledge_message", agent_name="RedStone", message_id=message_id)

    assert (answer["read_at"], answer["acknowledged_at"]) == (read_at, iso(office.room.clock.now))
    assert [step for _, _, step, _ in receipts(office)] == ["read", "acknowledged"]


@pytest.mark.parametrize("agent", ["BlueLake", "GreenField"])
async def test_only_a_recipient_may_and_anybody_else_changes_nothing(office: Office, agent: str) -> None:
    message_id = await office.sent_id()

    for number in (message_id, 999):
        read = await office.call("mark_message_read", agent_name=agent, message_id=number)
        acked = await office.call("acknowledge_message", agent_name=agent, message_id=number)
        assert (read["read"], read["read_at"]) == (False, None)
        assert (acked["acknowledged"], acked["acknowledged_at"], acked["read_at"]) == (False, None, None)
    assert receipts(office) == []
    assert office.rows("SELECT sum(unread_count) FROM agents") == [(1,)]


async def test_a_receipt_belongs_to_the_recipients_project(office: Office) -> None:
    message_id = await office.sent_id(to=[f"QuietFox@{LIB}"])

    await office.call("mark_message_read", project_key=LIB, agent_name="QuietFox", message_id=message_id)

    assert [(project, agent) for project, agent, _, _ in receipts(office)] == [(office.room.lib.id, office.room.fox.id)]


async def test_a_receipt_is_given_as_the_agent_itself(office: Office) -> None:
    message_id = await office.sent_id()

    with pytest.raises(PermissionDenied):
        await office.call(
            "acknowledge_message", office.proof(office.room.blue), agent_name="RedStone", message_id=message_id
        )
    with pytest.raises(PermissionDenied):
        await office.call("mark_message_read", agent_name="Human", message_id=message_id)
    with pytest.raises(NotFound):
        await office.call("mark_message_read", agent_name="Nobody", message_id=message_id)


async def test_an_archived_project_takes_no_receipts(office: Office) -> None:
    message_id = await office.sent_id()
    await office.room.store.write(lambda tx: tx.projects.set_archived(office.room.app.id, tx.now))

    with pytest.raises(Conflict):
        await office.call("mark_message_read", agent_name="RedStone", message_id=message_id)


async def test_the_answer_says_verified_only_where_names_are_taken_at_their_word(office: Office) -> None:
    message_id = await office.sent_id()
    red = office.proof(office.room.red)

    proven = await office.call("mark_message_read", red, agent_name="RedStone", message_id=message_id)
    office.identities.auth = AgentAuth.STRICT
    strict = await office.call("acknowledge_message", red, agent_name="RedStone", message_id=message_id)

    assert proven["verified"] is True
    assert "verified" not in strict


async def test_looking_into_ones_inbox_is_activity_and_the_operators_look_is_not(office: Office) -> None:
    await office.inbox("RedStone")
    await office.read("views/ack-required/RedStone")
    await office.read("inbox/GreenField", OPERATOR)

    assert office.noted == ["RedStone", "RedStone"]

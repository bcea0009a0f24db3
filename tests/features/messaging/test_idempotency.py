from __future__ import annotations

import asyncio

import pytest

from mcp_agent_mail.core.errors import IdempotencyKeyConflict, PermissionDenied, RecipientNotFound
from mcp_agent_mail.domain.identity.caller import AgentAuth
from tests.features.messaging.office import Office
from tests.mailroom import token_of


def messages(office: Office) -> int:
    ((count,),) = office.rows("SELECT count(*) FROM messages")
    assert isinstance(count, int)
    return count


async def test_fifty_sends_at_once_with_one_key_are_one_message(office: Office) -> None:
    answers = await asyncio.gather(*(office.send(idempotency_key="k") for _ in range(50)))

    assert messages(office) == 1
    assert {answer["deliveries"][0]["payload"]["id"] for answer in answers} == {1}
    assert sum("idempotent_replay" not in answer for answer in answers) == 1
    assert office.rows("SELECT unread_count FROM agents WHERE id = ?", office.room.red.id) == [(1,)]
    assert office.rows("SELECT count(*) FROM outbox") == [(1,)]


async def test_a_repeat_gives_the_first_answer_whatever_happened_since(office: Office) -> None:
    first = await office.send(idempotency_key="k", bcc=["GreenField"])
    office.room.clock.step(3_600)
    await office.room.store.write(lambda tx: tx.agents.set_retired(office.room.red.id, tx.now, tx.now))

    again = await office.send(idempotency_key="k", bcc=["GreenField"])

    assert again == {**first, "idempotent_replay": True}


async def test_other_arguments_under_the_same_key_are_a_conflict(office: Office) -> None:
    await office.send(idempotency_key="k")

    for other in ({"body_md": "other"}, {"to": ["GreenField"]}, {"importance": "high"}, {"topic": "x"}):
        with pytest.raises(IdempotencyKeyConflict):
            await office.send(idempotency_key="k", **other)
    assert messages(office) == 1


async def test_a_key_works_for_replies_and_is_not_shared_with_sends(office: Office) -> None:
    original = await office.sent_id()

    async def reply(key: str) -> dict[str, object]:
        answer: dict[str, object] = await office.call(
            "reply_message", message_id=original, sender_name="BlueLake", body_md="Hi", idempotency_key=key
        )
        return answer

    first = await reply("k")
    assert await reply("k") == {**first, "idempotent_replay": True}
    await office.send(idempotency_key="s")
    with pytest.raises(IdempotencyKeyConflict):
        await reply("s")
    assert messages(office) == 3


async def test_another_agents_call_with_the_key_is_a_call_of_its_own(office: Office) -> None:
    await office.send(idempotency_key="k", bcc=["GreenField"])

    other = await office.send(sender_name="RedStone", idempotency_key="k", bcc=["GreenField"])

    assert "idempotent_replay" not in other
    assert messages(office) == 2


async def test_an_answer_is_replayed_only_to_whoever_may_act_as_the_sender(office: Office) -> None:
    await office.send(idempotency_key="k")

    with pytest.raises(PermissionDenied):
        await office.send(idempotency_key="k", sender_token=token_of("RedStone", office.room.app))
    office.identities.auth = AgentAuth.STRICT
    with pytest.raises(Exception, match="needs its token"):
        await office.send(idempotency_key="k")


async def test_a_key_is_forgotten_after_a_day(office: Office) -> None:
    await office.send(idempotency_key="k")
    office.room.clock.step(24 * 3_600)

    again = await office.send(idempotency_key="k", body_md="other")

    assert "idempotent_replay" not in again
    assert messages(office) == 2
    assert office.rows("SELECT count(*) FROM idempotency_keys") == [(1,)]


async def test_a_refused_call_does_not_use_up_its_key(office: Office) -> None:
    with pytest.raises(RecipientNotFound):
        await office.send(idempotency_key="k", to=["Nobody"])

    assert "idempotent_replay" not in await office.send(idempotency_key="k")


async def test_without_a_key_equal_sends_are_two_messages(office: Office) -> None:
    await office.send()
    await office.send()

    assert messages(office) == 2


async def test_a_broadcast_that_found_nobody_is_remembered_too(office: Office) -> None:
    room = office.room
    await room.store.write(lambda tx: [tx.agents.set_retired(one.id, tx.now, tx.now) for one in (room.red, room.green)])
    first = await office.send(to=None, broadcast=True, idempotency_key="k")

    assert await office.send(to=None, broadcast=True, idempotency_key="k") == {**first, "idempotent_replay": True}

from __future__ import annotations

import asyncio

import pytest

from mcp_agent_mail.core.errors import IdempotencyKeyConflict, PermissionDenied, RecipientNotFound
from mcp_agent_mail.domain.identity.caller import AgentAuth
from tests.features.messaging.harness import MessagingHarness
from tests.seeded_store import token_of


def messages(harness: MessagingHarness) -> int:
    ((count,),) = harness.rows("SELECT count(*) FROM messages")
    assert isinstance(count, int)
    return count


async def test_fifty_sends_at_once_with_one_key_are_one_message(harness: MessagingHarness) -> None:
    answers = await asyncio.gather(*(harness.send(idempotency_key="k") for _ in range(50)))

    assert messages(harness) == 1
    assert {answer["deliveries"][0]["payload"]["id"] for answer in answers} == {1}
    assert sum("idempotent_replay" not in answer for answer in answers) == 1
    assert harness.rows("SELECT unread_count FROM agents WHERE id = ?", harness.seeded.red.id) == [(1,)]
    assert harness.rows("SELECT count(*) FROM outbox") == [(1,)]


async def test_a_repeat_gives_the_first_answer_whatever_happened_since(harness: MessagingHarness) -> None:
    first = await harness.send(idempotency_key="k", bcc=["GreenField"])
    harness.seeded.clock.step(3_600)
    await harness.seeded.store.write(lambda tx: tx.agents.set_retired(harness.seeded.red.id, tx.now, tx.now))

    again = await harness.send(idempotency_key="k", bcc=["GreenField"])

    assert again == {**first, "idempotent_replay": True}


async def test_other_arguments_under_the_same_key_are_a_conflict(harness: MessagingHarness) -> None:
    await harness.send(idempotency_key="k")

    for other in ({"body_md": "other"}, {"to": ["GreenField"]}, {"importance": "high"}, {"topic": "x"}):
        with pytest.raises(IdempotencyKeyConflict):
            await harness.send(idempotency_key="k", **other)
    assert messages(harness) == 1


async def test_a_key_works_for_replies_and_is_not_shared_with_sends(harness: MessagingHarness) -> None:
    original = await harness.sent_id()

    async def reply(key: str) -> dict[str, object]:
        answer: dict[str, object] = await harness.call(
            "reply_message", message_id=original, sender_name="BlueLake", body_md="Hi", idempotency_key=key
        )
        return answer

    first = await reply("k")
    assert await reply("k") == {**first, "idempotent_replay": True}
    await harness.send(idempotency_key="s")
    with pytest.raises(IdempotencyKeyConflict):
        await reply("s")
    assert messages(harness) == 3


async def test_another_agents_call_with_the_key_is_a_call_of_its_own(harness: MessagingHarness) -> None:
    await harness.send(idempotency_key="k", bcc=["GreenField"])

    other = await harness.send(sender_name="RedStone", idempotency_key="k", bcc=["GreenField"])

    assert "idempotent_replay" not in other
    assert messages(harness) == 2


async def test_an_answer_is_replayed_only_to_whoever_may_act_as_the_sender(harness: MessagingHarness) -> None:
    await harness.send(idempotency_key="k")

    with pytest.raises(PermissionDenied):
        await harness.send(idempotency_key="k", sender_token=token_of("RedStone", harness.seeded.app))
    harness.identities.auth = AgentAuth.STRICT
    with pytest.raises(Exception, match="needs its token"):
        await harness.send(idempotency_key="k")


async def test_a_key_is_forgotten_after_a_day(harness: MessagingHarness) -> None:
    await harness.send(idempotency_key="k")
    harness.seeded.clock.step(24 * 3_600)

    again = await harness.send(idempotency_key="k", body_md="other")

    assert "idempotent_replay" not in again
    assert messages(harness) == 2
    assert harness.rows("SELECT count(*) FROM idempotency_keys") == [(1,)]


async def test_a_refused_call_does_not_use_up_its_key(harness: MessagingHarness) -> None:
    with pytest.raises(RecipientNotFound):
        await harness.send(idempotency_key="k", to=["Nobody"])

    assert "idempotent_replay" not in await harness.send(idempotency_key="k")


async def test_without_a_key_equal_sends_are_two_messages(harness: MessagingHarness) -> None:
    await harness.send()
    await harness.send()

    assert messages(harness) == 2


async def test_a_broadcast_that_found_nobody_is_remembered_too(harness: MessagingHarness) -> None:
    seeded = harness.seeded
    await seeded.store.write(
        lambda tx: [tx.agents.set_retired(one.id, tx.now, tx.now) for one in (seeded.red, seeded.green)]
    )
    first = await harness.send(to=None, broadcast=True, idempotency_key="k")

    assert await harness.send(to=None, broadcast=True, idempotency_key="k") == {**first, "idempotent_replay": True}

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.ids import MessageId
from mcp_agent_mail.domain.ladder import LadderStep
from mcp_agent_mail.domain.messages import NO_TERMS, Terms
from mcp_agent_mail.store.checks.integrity import find_faults
from mcp_agent_mail.store.mail.copy_steps import ReadingState, find_state, take_steps
from mcp_agent_mail.store.transaction import Tx
from tests.seeded_store import SeededStore, open_seeded_store

READ = (LadderStep.READ,)
ACKNOWLEDGED = (LadderStep.READ, LadderStep.ACKNOWLEDGED)
ANSWERED = (LadderStep.READ, LadderStep.ACKNOWLEDGED, LadderStep.ANSWERED)


@pytest.fixture
async def seeded(tmp_path: Path) -> AsyncIterator[SeededStore]:
    async with open_seeded_store(tmp_path) as opened:
        yield opened


async def post(
    seeded: SeededStore, *, ack_required: bool = False, is_private: bool = False, terms: Terms = NO_TERMS
) -> MessageId:
    letter = seeded.letter(seeded.blue, ack_required=ack_required)
    message, _ = await seeded.post(replace(letter, is_private=is_private, terms=terms), *seeded.addressed([seeded.red]))
    return message.id


async def take(seeded: SeededStore, message_id: MessageId, *wanted: LadderStep) -> ReadingState:
    def unit(tx: Tx) -> ReadingState:
        return take_steps(tx._connection, seeded.red.id, [message_id, message_id], tx.now, wanted)[message_id]

    return await seeded.store.write(unit)


async def told(seeded: SeededStore) -> list[str]:
    """What the sender's feed says, in its order."""

    def unit(tx: Tx) -> list[str]:
        rows = tx._connection.execute("SELECT event FROM feed WHERE agent_id = ? ORDER BY cursor", (seeded.blue.id,))
        return [event for (event,) in rows]

    return await seeded.store.write(unit)


async def test_several_steps_are_one_statement_and_the_feed_tells_of_them_up_the_ladder(seeded: SeededStore) -> None:
    message_id = await post(seeded, ack_required=True)
    statements: dict[str, None] = {}

    def unit(tx: Tx) -> None:
        seeded.store._writing.set_trace_callback(statements.setdefault)
        take_steps(tx._connection, seeded.red.id, [message_id], tx.now, ANSWERED)
        seeded.store._writing.set_trace_callback(None)

    await seeded.store.write(unit)

    assert [sql.split()[:2] for sql in statements] == [
        ["SELECT", "r.read_ts,"],
        ["UPDATE", "recipients"],
        ["UPDATE", "agents"],
    ]
    assert await told(seeded) == ["read", "acknowledged", "answered"]
    counts = await seeded.store.read(lambda view: view.inboxes.counts(seeded.red.id))
    assert tuple(counts) == (1, 0, 0, 0)


async def test_a_step_that_was_taken_stays_as_it_is_and_the_next_one_is_added(seeded: SeededStore) -> None:
    message_id = await post(seeded)
    first = seeded.clock.now
    read = await take(seeded, message_id, *READ)
    seeded.clock.step()

    again = await take(seeded, message_id, *READ)
    acknowledged = await take(seeded, message_id, *ACKNOWLEDGED)

    assert (read.read_ts, read.changed) == (first, True)
    assert (again.read_ts, again.changed) == (first, False)
    assert (acknowledged.read_ts, acknowledged.ack_ts, acknowledged.changed) == (first, seeded.clock.now, True)
    assert await told(seeded) == ["read", "acknowledged"]


async def test_what_has_expired_unread_is_only_answered(seeded: SeededStore) -> None:
    until = Micros(seeded.clock.now + SECOND)
    message_id = await post(seeded, terms=Terms(valid_until=until))
    seeded.clock.step(2)

    refused = await take(seeded, message_id, *ACKNOWLEDGED)
    await seeded.store.write(lambda tx: tx.ladder.expire_due(tx.now))
    answered = await take(seeded, message_id, *ANSWERED)

    assert (refused.read_ts, refused.ack_ts, refused.changed, refused.expired_ts) == (None, None, False, until)
    assert (answered.read_ts, answered.ack_ts, answered.changed) == (seeded.clock.now, seeded.clock.now, True)
    counts = await seeded.store.read(lambda view: view.inboxes.counts(seeded.red.id))
    assert tuple(counts) == (1, 0, 0, 0)


@pytest.mark.parametrize("is_private", [False, True])
async def test_the_state_says_whether_the_message_is_private_as_the_message_does(
    seeded: SeededStore, *, is_private: bool
) -> None:
    message_id = await post(seeded, is_private=is_private)

    state = await seeded.store.write(lambda tx: find_state(tx._connection, seeded.red.id, message_id))
    message = await seeded.store.read(lambda view: view.messages.find(message_id))

    assert state is not None
    assert message is not None
    assert (state.is_private, message.is_private) == (is_private, is_private)


async def test_who_is_no_recipient_has_no_state(seeded: SeededStore) -> None:
    message_id = await post(seeded)

    def unit(tx: Tx) -> tuple[object, object]:
        connection, green = tx._connection, seeded.green.id
        return find_state(connection, green, message_id), take_steps(connection, green, [message_id], tx.now, READ)

    assert await seeded.store.write(unit) == (None, {})


async def test_a_copy_that_is_held_back_has_no_state_and_takes_no_step(seeded: SeededStore) -> None:
    held = replace(seeded.addressed([seeded.red])[0], held_code="CONTACT_REQUIRED")
    message, _ = await seeded.post(seeded.letter(seeded.blue), held)

    def unit(tx: Tx) -> tuple[object, object]:
        connection, red = tx._connection, seeded.red.id
        return find_state(connection, red, message.id), take_steps(connection, red, [message.id], tx.now, READ)

    assert await seeded.store.write(unit) == (None, {})


async def inbox_counts(seeded: SeededStore) -> tuple[int, ...]:
    return tuple(await seeded.store.read(lambda view: view.inboxes.counts(seeded.red.id)))


async def test_what_was_read_before_is_waited_for_until_it_is_acknowledged(seeded: SeededStore) -> None:
    message_id = await post(seeded, ack_required=True)
    await take(seeded, message_id, *READ)
    read = await inbox_counts(seeded)

    await take(seeded, message_id, *ACKNOWLEDGED)

    assert (read, await inbox_counts(seeded)) == ((1, 0, 1, 0), (1, 0, 0, 0))


async def test_an_answer_changes_no_acknowledgement_that_was_made_before(seeded: SeededStore) -> None:
    message_id = await post(seeded, ack_required=True)
    await take(seeded, message_id, *ACKNOWLEDGED)
    first = seeded.clock.now
    seeded.clock.step()

    answered = await take(seeded, message_id, *ANSWERED)

    assert (answered.read_ts, answered.ack_ts, answered.changed) == (first, first, False)
    assert await told(seeded) == ["read", "acknowledged", "answered"]


@pytest.mark.parametrize("is_first", [False, True])
async def test_what_is_unread_counts_no_more_wherever_it_is_among_what_was_read(
    seeded: SeededStore, *, is_first: bool
) -> None:
    read, unread = [await post(seeded, ack_required=True) for _ in range(2)]
    await take(seeded, read, *READ)
    both = [unread, read] if is_first else [read, unread]

    await seeded.store.write(lambda tx: tx.inboxes.acknowledge_all(seeded.red.id, both, tx.now))

    assert await inbox_counts(seeded) == (2, 0, 0, 0)


async def test_who_answers_what_has_passed_before_its_end_is_written_has_read_it(seeded: SeededStore) -> None:
    message_id = await post(seeded, ack_required=True, terms=Terms(valid_until=Micros(seeded.clock.now + SECOND)))
    seeded.clock.step(2)

    answered = await take(seeded, message_id, *ANSWERED)

    assert (answered.read_ts, answered.expired_ts) == (seeded.clock.now, None)
    assert await inbox_counts(seeded) == (1, 0, 0, 0)
    assert find_faults(seeded.store.path) == []

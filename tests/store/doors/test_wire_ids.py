from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from mcp_agent_mail.core.ids import MessageId
from mcp_agent_mail.domain.doors.ids import NO_BODY, NewWirePlace, WireMessage, WirePlace, body_digest, made_id
from mcp_agent_mail.domain.doors.names import Door
from mcp_agent_mail.store.doors import wire_ids as rows
from tests.seeded_store import SeededStore, open_seeded_store

HASH = body_digest("body")


@pytest.fixture
async def seeded(tmp_path: Path) -> AsyncIterator[SeededStore]:
    async with open_seeded_store(tmp_path) as opened:
        yield opened


def place(seeded: SeededStore, external_id: str = "m-1", answers: int = 0) -> WirePlace:
    return WirePlace(
        door=Door.POSTAL,
        external_id=external_id,
        sender_id=seeded.blue.id,
        recipient_id=seeded.red.id,
        answers=answers,
    )


async def post(seeded: SeededStore, external_id: str = "m-1", answers: int = 0, *, held: bool = False) -> MessageId:
    (to,) = seeded.addressed([seeded.red])
    message, _ = await seeded.post(seeded.letter(seeded.blue), replace(to, held_code="policy") if held else to)
    where = place(seeded, external_id, answers)
    await seeded.store.write(lambda tx: tx.wire_ids.add(message.id, where, HASH))
    return message.id


async def newest_had(seeded: SeededStore, external_id: str = "m-1") -> MessageId | None:
    return await seeded.store.read(
        lambda view: view.wire_ids.newest_had(Door.POSTAL, external_id, seeded.blue.id, seeded.red.id)
    )


async def test_a_message_has_its_id_at_the_door_that_it_came_by(seeded: SeededStore) -> None:
    message = await post(seeded)
    native, _ = await seeded.post(seeded.letter(seeded.blue), *seeded.addressed([seeded.red]))

    found = await seeded.store.read(
        lambda view: [
            view.wire_ids.find(message, Door.POSTAL),
            view.wire_ids.find(message, Door.AGENTMAIL),
            view.wire_ids.is_from_door(message),
            view.wire_ids.is_from_door(native.id),
            view.wire_ids.at(place(seeded)),
            view.wire_ids.at(replace(place(seeded), answers=1)),
        ]
    )

    assert found == ["m-1", None, True, False, WireMessage(message_id=message, body_hash=HASH), None]


async def test_there_is_one_message_at_a_place(seeded: SeededStore) -> None:
    first = await post(seeded)
    await post(seeded, answers=first)

    with pytest.raises(sqlite3.IntegrityError):
        await post(seeded)


async def test_what_is_only_waiting_was_not_had(seeded: SeededStore) -> None:
    first = await post(seeded)
    second = await post(seeded, answers=first)
    await post(seeded, answers=second, held=True)
    had = [await newest_had(seeded)]

    await seeded.store.write(lambda tx: tx.inboxes.mark_read(seeded.red.id, first, tx.now))
    had.append(await newest_had(seeded))
    await seeded.store.write(lambda tx: tx.pops.take(seeded.red.id, Door.POSTAL, tx.now))
    had.append(await newest_had(seeded))

    assert had == [None, first, second]
    assert await newest_had(seeded, "m-2") is None


async def test_a_native_message_was_had_by_its_recipient_from_its_sender_alone(seeded: SeededStore) -> None:
    message, _ = await seeded.post(seeded.letter(seeded.blue), *seeded.addressed([seeded.red, seeded.green]))
    await seeded.store.write(lambda tx: tx.inboxes.mark_read(seeded.red.id, message.id, tx.now))
    pairs = [(seeded.blue, seeded.red), (seeded.blue, seeded.green), (seeded.green, seeded.red)]

    found = [
        await seeded.store.read(lambda view: view.wire_ids.has_had(message.id, sender.id, reader.id))  # noqa: B023
        for sender, reader in pairs
    ]

    assert found == [True, False, False]


async def test_the_newest_is_found_however_long_two_go_on_with_one_id(seeded: SeededStore) -> None:
    key = {"door": "postal", "id": "m", "sender": 1, "reader": 1}

    plan = seeded.store._reading.execute(f"EXPLAIN QUERY PLAN {rows._NEWEST_HAD}", key).fetchall()

    steps = [step for *_, step in plan]
    assert not any("SCAN" in step or "TEMP B-TREE" in step for step in steps), steps


async def come_in(seeded: SeededStore, chosen: str | None = None) -> WirePlace:
    new = NewWirePlace(door=Door.POSTAL, recipient_id=seeded.red.id, chosen=chosen)
    letter = replace(seeded.letter(seeded.blue), wire_place=new)
    message, _ = await seeded.post(letter, *seeded.addressed([seeded.red]))
    found = await seeded.store.read(lambda view: view.messages.find(message.id))
    assert found == message
    assert message.wire_place is not None
    return message.wire_place


async def test_a_message_comes_in_with_its_place(seeded: SeededStore) -> None:
    chosen = await come_in(seeded, "m-7")
    made = await come_in(seeded)

    assert chosen == place(seeded, "m-7")
    assert made.external_id == made_id(Door.POSTAL, MessageId(2))


async def test_an_id_that_somebody_chose_before_it_was_made_is_made_all_the_same(seeded: SeededStore) -> None:
    await come_in(seeded, made_id(Door.POSTAL, MessageId(2)))

    made = await come_in(seeded)

    assert made == replace(place(seeded, made_id(Door.POSTAL, MessageId(2))), answers=2)


async def test_of_a_purged_message_nothing_is_left_to_guess_its_body_by(seeded: SeededStore) -> None:
    message = await post(seeded)

    await seeded.store.write(lambda tx: tx.wire_ids.forget_body(message))

    found = await seeded.store.read(lambda view: view.wire_ids.at(place(seeded)))
    assert found == WireMessage(message_id=message, body_hash=NO_BODY)

"""Whose mail a commit changed: told after it, and only what it holds."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from mcp_agent_mail.core.errors import Conflict
from mcp_agent_mail.core.ids import AgentId
from mcp_agent_mail.store.transaction import Tx
from tests.mailroom import Mailroom, open_mailroom


@dataclass
class Listening:
    room: Mailroom
    told: list[frozenset[AgentId]] = field(default_factory=list)


@pytest.fixture
async def listening(tmp_path: Path) -> AsyncIterator[Listening]:
    async with open_mailroom(tmp_path) as room:
        heard = Listening(room)
        room.store.on_mail_change(heard.told.append)
        await room.store.write(lambda _: None)
        yield heard


async def test_a_send_a_read_and_an_acknowledgement_are_told(listening: Listening) -> None:
    room = listening.room
    message, _ = await room.post(room.letter(room.blue), *room.addressed([room.red, room.fox]))
    await room.store.write(lambda tx: tx.inboxes.mark_read(room.red.id, message.id, tx.now))
    await room.store.write(lambda tx: tx.inboxes.acknowledge(room.fox.id, message.id, tx.now))
    await asyncio.sleep(0)

    assert listening.told == [{room.red.id, room.fox.id}, {room.red.id}, {room.fox.id}]


async def test_what_changes_no_mail_is_not_told(listening: Listening) -> None:
    room = listening.room
    message, _ = await room.post(room.letter(room.blue), *room.addressed([room.red]))
    await room.store.write(lambda tx: tx.inboxes.mark_read(room.red.id, message.id, tx.now))
    await asyncio.sleep(0)
    listening.told.clear()

    await room.store.write(lambda tx: tx.inboxes.acknowledge(room.red.id, message.id, tx.now))
    await room.store.write(lambda tx: tx.meta.note_check(tx.now))
    await asyncio.sleep(0)

    assert listening.told == []


async def test_a_unit_that_is_refused_is_not_told_and_takes_no_other_with_it(listening: Listening) -> None:
    room = listening.room

    def send_and_refuse(tx: Tx) -> None:
        tx.messages.add(room.letter(room.blue), room.addressed([room.green]), tx.now)
        raise Conflict("No.")

    refused = asyncio.create_task(room.store.write(send_and_refuse))
    sent = asyncio.create_task(room.post(room.letter(room.blue), *room.addressed([room.red])))
    await asyncio.gather(refused, sent, return_exceptions=True)
    await asyncio.sleep(0)

    assert set().union(*listening.told) == {room.red.id}


async def test_nothing_is_noted_while_nobody_listens(tmp_path: Path) -> None:
    async with open_mailroom(tmp_path) as room:
        await room.post(room.letter(room.blue), *room.addressed([room.red]))

        made = await room.store.write(
            lambda tx: tx.meta._connection.execute("SELECT name FROM temp.sqlite_schema").fetchall()
        )

    assert made == []

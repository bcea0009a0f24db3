"""Whose mail a commit changed: told after it, and only what it holds."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from mcp_agent_mail.core.errors import Conflict
from mcp_agent_mail.core.ids import AgentId
from mcp_agent_mail.store.engine.sqlite.copy_changes import CopyChanges
from mcp_agent_mail.store.engine.sqlite.mail_changes import MailChanges
from mcp_agent_mail.store.engine.sqlite.right_changes import RightChanges
from mcp_agent_mail.store.transaction import Tx
from tests.seeded_store import SeededStore, open_seeded_store


@dataclass
class Listening:
    seeded: SeededStore
    told: list[frozenset[AgentId]] = field(default_factory=list)


@pytest.fixture
async def listening(tmp_path: Path) -> AsyncIterator[Listening]:
    async with open_seeded_store(tmp_path) as seeded:
        heard = Listening(seeded)
        seeded.store.on_mail_change(heard.told.append)
        await seeded.store.write(lambda _: None)
        yield heard


async def test_a_send_a_read_and_an_acknowledgement_are_told(listening: Listening) -> None:
    seeded = listening.seeded
    message, _ = await seeded.post(seeded.letter(seeded.blue), *seeded.addressed([seeded.red, seeded.fox]))
    await seeded.store.write(lambda tx: tx.inboxes.mark_read(seeded.red.id, message.id, tx.now))
    await seeded.store.write(lambda tx: tx.inboxes.acknowledge(seeded.fox.id, message.id, tx.now))
    await asyncio.sleep(0)

    sender = seeded.blue.id
    assert listening.told == [{seeded.red.id, seeded.fox.id}, {seeded.red.id, sender}, {seeded.fox.id, sender}]


async def test_whose_feed_gets_an_event_is_told_though_no_unread_mail_changes(listening: Listening) -> None:
    seeded = listening.seeded
    message, _ = await seeded.post(seeded.letter(seeded.blue), *seeded.addressed([seeded.red]))
    await seeded.store.write(lambda tx: tx.inboxes.mark_read(seeded.red.id, message.id, tx.now))
    await asyncio.sleep(0)
    listening.told.clear()

    await seeded.store.write(lambda tx: tx.inboxes.acknowledge(seeded.red.id, message.id, tx.now))
    await asyncio.sleep(0)

    assert listening.told == [{seeded.blue.id}]


async def test_what_changes_no_mail_is_not_told(listening: Listening) -> None:
    seeded = listening.seeded
    message, _ = await seeded.post(seeded.letter(seeded.blue), *seeded.addressed([seeded.red]))
    await seeded.store.write(lambda tx: tx.inboxes.mark_read(seeded.red.id, message.id, tx.now))
    await asyncio.sleep(0)
    listening.told.clear()

    await seeded.store.write(lambda tx: tx.inboxes.mark_read(seeded.red.id, message.id, tx.now))
    await seeded.store.write(lambda tx: tx.meta.note_check(tx.now))
    await asyncio.sleep(0)

    assert listening.told == []


async def test_a_unit_that_is_refused_is_not_told_and_takes_no_other_with_it(listening: Listening) -> None:
    seeded = listening.seeded

    def send_and_refuse(tx: Tx) -> None:
        tx.messages.add(seeded.letter(seeded.blue), seeded.addressed([seeded.green]), tx.now)
        raise Conflict("No.")

    refused = asyncio.create_task(seeded.store.write(send_and_refuse))
    sent = asyncio.create_task(seeded.post(seeded.letter(seeded.blue), *seeded.addressed([seeded.red])))
    await asyncio.gather(refused, sent, return_exceptions=True)
    await asyncio.sleep(0)

    assert set().union(*listening.told) == {seeded.red.id}


async def test_nothing_is_noted_while_nobody_listens(tmp_path: Path) -> None:
    async with open_seeded_store(tmp_path) as seeded:
        await seeded.post(seeded.letter(seeded.blue), *seeded.addressed([seeded.red]))

        made = await seeded.store.write(
            lambda tx: tx.meta._connection.execute("SELECT name FROM temp.sqlite_schema").fetchall()
        )

    assert made == []


@pytest.mark.parametrize("kind", [MailChanges, RightChanges, CopyChanges])
async def test_a_watch_that_broke_off_half_made_is_made_by_a_repeat(
    listening: Listening, kind: type[MailChanges | RightChanges | CopyChanges]
) -> None:
    made: list[int] = []

    def second_trigger_fails(action: int, *_: object) -> int:
        made.extend([action] if action == sqlite3.SQLITE_CREATE_TEMP_TRIGGER else [])
        return sqlite3.SQLITE_DENY if len(made) == 2 else sqlite3.SQLITE_OK

    path = listening.seeded.store.path
    with closing(sqlite3.connect(path)) as connection, closing(sqlite3.connect(path)) as other:
        kind(other).watch()
        changes = kind(connection)
        connection.set_authorizer(second_trigger_fails)
        with pytest.raises(sqlite3.DatabaseError):
            changes.watch()
        made.clear()
        connection.set_authorizer(None)
        changes.watch()

        assert not changes.take()
        whole = other.execute("SELECT type, name FROM temp.sqlite_schema ORDER BY name").fetchall()
        assert connection.execute("SELECT type, name FROM temp.sqlite_schema ORDER BY name").fetchall() == whole

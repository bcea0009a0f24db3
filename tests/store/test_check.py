from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from mcp_agent_mail.store.check import FAULTS_SHOWN, Fault, check_store, full_text_fault
from mcp_agent_mail.store.connection import add_functions
from tests.mailroom import Mailroom, open_mailroom


@pytest.fixture
async def room(tmp_path: Path) -> AsyncIterator[Mailroom]:
    async with open_mailroom(tmp_path) as opened:
        for number in range(3):
            await opened.post(
                opened.letter(opened.blue, body=f"text {number}"), *opened.addressed([opened.red, opened.fox])
            )
        yield opened


@contextmanager
def tampering(room: Mailroom) -> Iterator[sqlite3.Connection]:
    """A hand in the database, past the program."""
    with closing(sqlite3.connect(room.store.path)) as connection:
        add_functions(connection)
        connection.execute("PRAGMA writable_schema=ON")
        yield connection
        connection.commit()


async def faults_in(room: Mailroom) -> list[Fault]:
    return await asyncio.to_thread(check_store, room.store.path)


async def test_a_store_in_use_is_found_whole(room: Mailroom) -> None:
    assert await faults_in(room) == []
    assert await room.store.write(full_text_fault) is None


async def test_a_reference_to_nothing_is_found(room: Mailroom) -> None:
    with tampering(room) as connection:
        connection.execute("DELETE FROM projects WHERE id = ?", (room.lib.id,))

    faults = await faults_in(room)

    assert {fault.check for fault in faults} == {"references"}
    assert any("refers to a row of projects" in fault.problem for fault in faults)


async def test_a_message_that_no_search_finds_is_found(room: Mailroom) -> None:
    with tampering(room) as connection:
        connection.execute(
            "INSERT INTO messages_fts (messages_fts, rowid, subject, body_md, scope) "
            "SELECT 'delete', id, subject, body_md, scope FROM messages WHERE id = 2"
        )

    assert [(fault.check, fault.evidence) for fault in await faults_in(room)] == [
        ("full-text", "message 2 is in no search")
    ]


async def test_an_index_of_other_words_than_the_messages_is_found_by_the_writer(room: Mailroom) -> None:
    with tampering(room) as connection:
        connection.execute("UPDATE messages SET body_md = 'something else' WHERE id = 2")

    fault = await room.store.write(full_text_fault)

    assert fault is not None
    assert fault.check == "full-text"
    assert await room.store.write(lambda tx: tx.now()) == room.clock.now


async def test_a_damaged_index_is_found_without_writing(room: Mailroom) -> None:
    with tampering(room) as connection:
        connection.execute("UPDATE messages_fts_data SET block = x'00' WHERE id > 10")

    assert [fault.check for fault in await faults_in(room)] == ["pages"]


async def test_a_changed_schema_is_found(room: Mailroom) -> None:
    with tampering(room) as connection:
        connection.execute("DROP INDEX messages_sender")
        connection.execute("CREATE TABLE notes (text TEXT)")

    assert [fault.problem for fault in await faults_in(room)] == [
        "messages_sender is missing.",
        "notes is not the program's.",
    ]


async def test_wrong_counters_are_found(room: Mailroom) -> None:
    with tampering(room) as connection:
        connection.execute("UPDATE agents SET unread_count = 7 WHERE id = ?", (room.red.id,))
        connection.execute("UPDATE counters SET value = 1 WHERE name = 'delivery'")

    assert [fault.problem for fault in await faults_in(room)] == [
        "RedStone's count of unread mail is 7; 3 are unread.",
        "Delivery number 6 is in use and the counter stands at 1: numbers would come twice.",
    ]


async def test_damaged_pages_are_found(room: Mailroom, tmp_path: Path) -> None:
    copy = tmp_path / "copy.sqlite3"
    with closing(sqlite3.connect(room.store.path)) as whole, closing(sqlite3.connect(copy)) as target:
        whole.backup(target)
        page_bytes = target.execute("PRAGMA page_size").fetchone()[0]
        (page,) = target.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'messages_sender'").fetchone()
    with copy.open("r+b") as file:
        file.seek((page - 1) * page_bytes)
        file.write(b"\xff" * page_bytes)

    faults = await asyncio.to_thread(check_store, copy)

    assert faults[0].check == "pages"


async def test_of_many_faults_the_first_are_told(room: Mailroom) -> None:
    with tampering(room) as connection:
        for number in range(FAULTS_SHOWN + 5):
            connection.execute(f"CREATE TABLE notes_{number} (text TEXT)")

    assert len(await faults_in(room)) == FAULTS_SHOWN

"""What the migration `reading` fills in for older stores is what the store itself writes."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Any

from mcp_agent_mail.domain.messages import RecipientKind
from mcp_agent_mail.store.checks.integrity import find_faults
from tests.mailroom import Mailroom, open_mailroom

_ORDER = "SELECT project_id, message_id FROM message_projects ORDER BY project_id, delivery_seq"
_COUNTED = "SELECT id, unread_count, open_unread_count FROM agents"


def updates() -> list[str]:
    (script,) = (
        entry.read_text(encoding="utf-8")
        for entry in (files("mcp_agent_mail.store") / "schema").iterdir()
        if entry.name.endswith("_reading.sql")
    )
    return [part.strip() for part in script.split(";") if part.strip().startswith("UPDATE")]


async def fill(room: Mailroom) -> None:
    await room.post(room.letter(room.blue), *room.addressed([room.red, room.fox]))
    blind = room.addressed([room.red, room.fox], RecipientKind.BCC)
    await room.post(room.letter(room.blue), *room.addressed([room.green]), *blind)
    read, _ = await room.post(room.letter(room.green), *blind)
    await room.store.write(lambda tx: tx.inboxes.mark_read(room.red.id, read.id, tx.now))
    seen, _ = await room.post(room.letter(room.fox), *room.addressed([room.red, room.fox]))
    await room.store.write(lambda tx: tx.inboxes.acknowledge(room.red.id, seen.id, tx.now))


async def test_an_older_store_gets_the_numbers_that_this_one_writes(tmp_path: Path) -> None:
    async with open_mailroom(tmp_path) as room:
        await fill(room)
        connection = room.store._reading
        before: dict[str, list[Any]] = {sql: connection.execute(sql).fetchall() for sql in (_ORDER, _COUNTED)}

        def forget_and_fill(tx: Any) -> None:
            tx.agents._connection.execute("UPDATE message_projects SET delivery_seq = 0")
            tx.agents._connection.execute("UPDATE agents SET open_unread_count = 0")
            for sql in updates():
                tx.agents._connection.execute(sql)

        await room.store.write(forget_and_fill)

        assert {sql: connection.execute(sql).fetchall() for sql in before} == before
        assert connection.execute("SELECT min(delivery_seq) FROM message_projects").fetchone() == (1,)
    assert find_faults(tmp_path / "mail.sqlite3") == []


async def test_blind_copies_count_for_their_recipient_alone(tmp_path: Path) -> None:
    async with open_mailroom(tmp_path) as room:
        await fill(room)

        red = await room.store.read(lambda view: view.agents.find(room.red.id))

        assert red is not None
        assert (red.unread_count, red.open_unread_count) == (2, 1)

"""What the migration `reading` fills in for older stores is what the store itself writes."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Any

from mcp_agent_mail.domain.messages import RecipientKind
from mcp_agent_mail.store.checks.integrity import find_faults
from tests.seeded_store import SeededStore, open_seeded_store

_ORDER = "SELECT project_id, message_id FROM message_projects ORDER BY project_id, delivery_seq"
_COUNTED = "SELECT id, unread_count, open_unread_count FROM agents"


def updates() -> list[str]:
    (script,) = (
        entry.read_text(encoding="utf-8")
        for entry in (files("mcp_agent_mail.store") / "schema").iterdir()
        if entry.name.endswith("_reading.sql")
    )
    return [part.strip() for part in script.split(";") if part.strip().startswith("UPDATE")]


async def fill(seeded: SeededStore) -> None:
    await seeded.post(seeded.letter(seeded.blue), *seeded.addressed([seeded.red, seeded.fox]))
    blind = seeded.addressed([seeded.red, seeded.fox], RecipientKind.BCC)
    await seeded.post(seeded.letter(seeded.blue), *seeded.addressed([seeded.green]), *blind)
    read, _ = await seeded.post(seeded.letter(seeded.green), *blind)
    await seeded.store.write(lambda tx: tx.inboxes.mark_read(seeded.red.id, read.id, tx.now))
    seen, _ = await seeded.post(seeded.letter(seeded.fox), *seeded.addressed([seeded.red, seeded.fox]))
    await seeded.store.write(lambda tx: tx.inboxes.acknowledge(seeded.red.id, seen.id, tx.now))


async def test_an_older_store_gets_the_numbers_that_this_one_writes(tmp_path: Path) -> None:
    async with open_seeded_store(tmp_path) as seeded:
        await fill(seeded)
        connection = seeded.store._reading
        before: dict[str, list[Any]] = {sql: connection.execute(sql).fetchall() for sql in (_ORDER, _COUNTED)}

        def forget_and_fill(tx: Any) -> None:
            tx.agents._connection.execute("UPDATE message_projects SET delivery_seq = 0")
            tx.agents._connection.execute("UPDATE agents SET open_unread_count = 0")
            for sql in updates():
                tx.agents._connection.execute(sql)

        await seeded.store.write(forget_and_fill)

        assert {sql: connection.execute(sql).fetchall() for sql in before} == before
        assert connection.execute("SELECT min(delivery_seq) FROM message_projects").fetchone() == (1,)
    assert find_faults(tmp_path / "mail.sqlite3") == []


async def test_blind_copies_count_for_their_recipient_alone(tmp_path: Path) -> None:
    async with open_seeded_store(tmp_path) as seeded:
        await fill(seeded)

        red = await seeded.store.read(lambda view: view.agents.find(seeded.red.id))

        assert red is not None
        assert (red.unread_count, red.open_unread_count) == (2, 1)

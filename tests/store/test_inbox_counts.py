"""What an inbox holds is kept with its agent: as the store counts it along, and as the migration fills it in."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from mcp_agent_mail.core.ids import MessageId
from mcp_agent_mail.domain.messages import Importance, RecipientKind
from mcp_agent_mail.store.checks.integrity import find_faults
from mcp_agent_mail.store.mail.inboxes import InboxCounts
from tests.seeded_store import SeededStore, open_seeded_store

_COUNTED = "SELECT id, inbox_count, unread_count, ack_pending_count, urgent_unread_count FROM agents ORDER BY id"


async def fill(seeded: SeededStore) -> list[MessageId]:
    """RedStone gets one plain message, one urgent blind copy, one to acknowledge and one high that it acknowledged."""
    ids = []
    letters = [
        (seeded.letter(seeded.blue), RecipientKind.TO),
        (seeded.letter(seeded.blue, importance=Importance.URGENT), RecipientKind.BCC),
        (seeded.letter(seeded.green, ack_required=True), RecipientKind.CC),
        (seeded.letter(seeded.fox, importance=Importance.HIGH, ack_required=True), RecipientKind.TO),
    ]
    for letter, kind in letters:
        message, _ = await seeded.post(letter, *seeded.addressed([seeded.red, seeded.fox], kind))
        ids.append(message.id)
    await seeded.store.write(lambda tx: tx.inboxes.acknowledge(seeded.red.id, ids[-1], tx.now))
    return ids


async def counts(seeded: SeededStore) -> InboxCounts:
    return await seeded.store.read(lambda view: view.inboxes.counts(seeded.red.id))


async def test_every_delivery_and_every_receipt_is_counted_once(tmp_path: Path) -> None:
    async with open_seeded_store(tmp_path) as seeded:
        ids = await fill(seeded)
        assert await counts(seeded) == InboxCounts(total=4, unread=3, ack_pending=1, urgent_unread=1)

        for _ in range(2):
            await seeded.store.write(lambda tx: tx.inboxes.mark_all_read(seeded.red.id, ids[:2], tx.now))
            assert await counts(seeded) == InboxCounts(total=4, unread=1, ack_pending=1, urgent_unread=0)
        for _ in range(2):
            await seeded.store.write(lambda tx: tx.inboxes.acknowledge_all(seeded.red.id, ids, tx.now))
            assert await counts(seeded) == InboxCounts(total=4, unread=0, ack_pending=0, urgent_unread=0)
    assert find_faults(tmp_path / "mail.sqlite3") == []


async def test_marking_many_tells_which_it_changed_and_leaves_out_what_is_no_ones(tmp_path: Path) -> None:
    async with open_seeded_store(tmp_path) as seeded:
        ids = await fill(seeded)

        states = await seeded.store.write(
            lambda tx: tx.inboxes.mark_all_read(seeded.red.id, [*ids[2:], MessageId(999)], tx.now)
        )

        assert {number: state.changed for number, state in states.items()} == {ids[2]: True, ids[3]: False}
        assert await seeded.store.write(lambda tx: tx.inboxes.mark_all_read(seeded.blue.id, ids, tx.now)) == {}


async def test_an_older_store_gets_the_counts_that_this_one_keeps(tmp_path: Path) -> None:
    async with open_seeded_store(tmp_path) as seeded:
        await fill(seeded)
        connection = seeded.store._reading
        before = connection.execute(_COUNTED).fetchall()
        script = (files("mcp_agent_mail.store") / "schema" / "0016_inbox_counts.sql").read_text(encoding="utf-8")
        (update,) = [part for part in script.split(";") if part.strip().startswith("UPDATE")]

        def forget_and_fill(tx: Any) -> None:
            run = tx.agents._connection.execute
            run("UPDATE agents SET inbox_count = 0, urgent_unread_count = 0, ack_pending_count = 0")
            run(update)

        await seeded.store.write(forget_and_fill)

        assert connection.execute(_COUNTED).fetchall() == before


async def test_a_count_that_is_wrong_is_a_fault(tmp_path: Path) -> None:
    async with open_seeded_store(tmp_path) as seeded:
        await fill(seeded)
        red = seeded.red.id
    path = tmp_path / "mail.sqlite3"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(
            "UPDATE agents SET inbox_count = 9, ack_pending_count = 8, urgent_unread_count = 7 WHERE id = ?", (red,)
        )

    assert [fault.evidence for fault in find_faults(path)] == [
        f"agent {red} (RedStone) has 4 delivered messages; its counter says 9",
        f"agent {red} (RedStone) has 1 urgent unread messages; its counter says 7",
        f"agent {red} (RedStone) has 1 unacknowledged messages; its counter says 8",
    ]


async def test_the_counts_are_one_row_and_one_probe_for_passed_ends_however_large_the_inbox(tmp_path: Path) -> None:
    async with open_seeded_store(tmp_path) as seeded:
        statements: list[str] = []
        connection = seeded.store._reading
        connection.set_trace_callback(statements.append)
        await counts(seeded)
        connection.set_trace_callback(None)

        plans = [
            row[3]
            for sql in statements
            if "inbox_count" in sql
            for row in connection.execute(f"EXPLAIN QUERY PLAN {sql}")
        ]

        assert plans == [
            "SEARCH agents USING INTEGER PRIMARY KEY (rowid=?)",
            "SCALAR SUBQUERY 1",
            "SEARCH recipients USING INDEX recipients_valid (valid_until_ts>? AND valid_until_ts<?)",
        ]


async def test_held_mail_counts_from_its_delivery_on(tmp_path: Path) -> None:
    async with open_seeded_store(tmp_path) as seeded:
        copy = replace(seeded.addressed([seeded.red])[0], held_code="CONTACT_REQUIRED")
        letter = seeded.letter(seeded.blue, importance=Importance.URGENT, ack_required=True)
        await seeded.post(letter, copy)
        before = await counts(seeded)

        await seeded.store.write(lambda tx: tx.held.deliver(seeded.blue.id, seeded.red.id, tx.now))

        assert before == InboxCounts(total=0, unread=0, ack_pending=0, urgent_unread=0)
        assert await counts(seeded) == InboxCounts(total=1, unread=1, ack_pending=1, urgent_unread=1)
    assert find_faults(tmp_path / "mail.sqlite3") == []

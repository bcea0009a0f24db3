from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mcp_agent_mail.store.idempotency import KEPT, PRUNE_LOT, RememberedAnswer
from tests.mailroom import Mailroom, open_mailroom

ANSWER = RememberedAnswer(arguments_hash=b"h", result="{}")


@pytest.fixture
async def room(tmp_path: Path) -> AsyncIterator[Mailroom]:
    async with open_mailroom(tmp_path) as opened:
        yield opened


async def test_a_key_belongs_to_the_agent_that_used_it(room: Mailroom) -> None:
    now = room.clock.now
    await room.store.write(lambda tx: tx.idempotency_keys.add(room.blue.id, "k", ANSWER, now))

    assert await room.store.read(lambda view: view.idempotency_keys.find(room.blue.id, "k", now)) == ANSWER
    assert await room.store.read(lambda view: view.idempotency_keys.find(room.red.id, "k", now)) is None


async def test_a_key_is_kept_twenty_four_hours(room: Mailroom) -> None:
    now = room.clock.now
    await room.store.write(lambda tx: tx.idempotency_keys.add(room.blue.id, "k", ANSWER, now))

    assert await room.store.read(lambda view: view.idempotency_keys.find(room.blue.id, "k", now + KEPT - 1)) == ANSWER  # type: ignore[arg-type]
    assert await room.store.read(lambda view: view.idempotency_keys.find(room.blue.id, "k", now + KEPT)) is None  # type: ignore[arg-type]


async def test_expired_keys_are_dropped_in_bounded_lots_by_later_ones(room: Mailroom) -> None:
    def fill(tx: object) -> None:
        for number in range(PRUNE_LOT + 5):
            tx.idempotency_keys.add(room.blue.id, f"old{number}", ANSWER, room.clock.now)  # type: ignore[attr-defined]

    await room.store.write(fill)
    room.clock.step(25 * 3_600)

    counts = []
    for name in ("new1", "new2"):
        await room.store.write(lambda tx, name=name: tx.idempotency_keys.add(room.blue.id, name, ANSWER, tx.now))  # type: ignore[misc]
        (count,) = room.store._reading.execute("SELECT count(*) FROM idempotency_keys").fetchone()
        counts.append(count)

    assert counts == [6, 2]

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.store.idempotency import KEPT, PRUNE_LOT, RememberedAnswer
from tests.seeded_store import SeededStore, open_seeded_store

ANSWER = RememberedAnswer(arguments_hash=b"h", result="{}")


@pytest.fixture
async def seeded(tmp_path: Path) -> AsyncIterator[SeededStore]:
    async with open_seeded_store(tmp_path) as opened:
        yield opened


async def test_a_key_belongs_to_the_agent_that_used_it(seeded: SeededStore) -> None:
    now = seeded.clock.now
    await seeded.store.write(lambda tx: tx.idempotency_keys.add(seeded.blue.id, "k", ANSWER, now))

    assert await seeded.store.read(lambda view: view.idempotency_keys.find(seeded.blue.id, "k", now)) == ANSWER
    assert await seeded.store.read(lambda view: view.idempotency_keys.find(seeded.red.id, "k", now)) is None


async def test_a_key_is_kept_twenty_four_hours(seeded: SeededStore) -> None:
    now = seeded.clock.now
    await seeded.store.write(lambda tx: tx.idempotency_keys.add(seeded.blue.id, "k", ANSWER, now))

    last, over = Micros(now + KEPT - 1), Micros(now + KEPT)
    assert await seeded.store.read(lambda view: view.idempotency_keys.find(seeded.blue.id, "k", last)) == ANSWER
    assert await seeded.store.read(lambda view: view.idempotency_keys.find(seeded.blue.id, "k", over)) is None


async def test_expired_keys_are_dropped_in_bounded_lots_by_later_ones(seeded: SeededStore) -> None:
    def fill(tx: object) -> None:
        for number in range(PRUNE_LOT + 5):
            tx.idempotency_keys.add(seeded.blue.id, f"old{number}", ANSWER, seeded.clock.now)  # type: ignore[attr-defined]

    await seeded.store.write(fill)
    seeded.clock.step(25 * 3_600)

    counts = []
    for name in ("new1", "new2"):
        await seeded.store.write(lambda tx, name=name: tx.idempotency_keys.add(seeded.blue.id, name, ANSWER, tx.now))  # type: ignore[misc]
        (count,) = seeded.store._reading.execute("SELECT count(*) FROM idempotency_keys").fetchone()
        counts.append(count)

    assert counts == [6, 2]

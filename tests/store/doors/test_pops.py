from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.ids import MessageId
from mcp_agent_mail.domain.doors.names import Door
from mcp_agent_mail.domain.messages import RecipientKind, Terms
from mcp_agent_mail.store.doors import pops as rows
from tests.seeded_store import SeededStore, open_seeded_store


@pytest.fixture
async def seeded(tmp_path: Path) -> AsyncIterator[SeededStore]:
    async with open_seeded_store(tmp_path) as opened:
        yield opened


async def post(seeded: SeededStore, *, held: bool = False, valid_s: float | None = None) -> MessageId:
    (to,) = seeded.addressed([seeded.red])
    letter = seeded.letter(seeded.blue)
    if valid_s is not None:
        letter = replace(letter, terms=Terms(valid_until=Micros(seeded.clock.now + int(valid_s * SECOND))))
    message, _ = await seeded.post(letter, replace(to, held_code="policy") if held else to)
    return message.id


async def take(seeded: SeededStore) -> MessageId | None:
    return await seeded.store.write(lambda tx: tx.pops.take(seeded.red.id, Door.POSTAL, tx.now))


async def waiting(seeded: SeededStore) -> int:
    return await seeded.store.read(lambda view: view.pops.count_waiting(seeded.red.id))


async def test_mail_is_given_once_in_the_order_of_delivery_and_stays_unread(seeded: SeededStore) -> None:
    posted = [await post(seeded) for _ in range(3)]

    counts = [await waiting(seeded)]
    taken = []
    for _ in range(4):
        taken.append(await take(seeded))
        counts.append(await waiting(seeded))

    assert taken == [*posted, None]
    assert counts == [3, 2, 1, 0, 0]
    assert (await seeded.store.read(lambda view: view.inboxes.counts(seeded.red.id))).unread == 3


async def test_what_is_given_back_is_given_next(seeded: SeededStore) -> None:
    first, second = await post(seeded), await post(seeded)
    await take(seeded)
    await take(seeded)

    ended = await seeded.store.write(lambda tx: tx.pops.end(first, seeded.red.id, seeded.clock.now))

    assert ended is True
    assert [await take(seeded), await take(seeded)] == [first, None]
    assert second > first


async def test_a_late_end_leaves_alone_whoever_has_it_now(seeded: SeededStore) -> None:
    message, first_ts = await post(seeded), seeded.clock.now
    await take(seeded)
    await seeded.store.write(lambda tx: tx.pops.end(message, seeded.red.id, first_ts))
    seeded.clock.step()
    await take(seeded)

    late = await seeded.store.write(lambda tx: tx.pops.end(message, seeded.red.id, first_ts))

    assert late is False
    assert await take(seeded) is None


async def test_held_read_and_expired_mail_is_not_given_and_blind_copies_are(seeded: SeededStore) -> None:
    held, read, expiring = await post(seeded, held=True), await post(seeded), await post(seeded, valid_s=10)
    blind, _ = await seeded.post(seeded.letter(seeded.blue), *seeded.addressed([seeded.red], RecipientKind.BCC))
    await seeded.store.write(lambda tx: tx.inboxes.mark_read(seeded.red.id, read, tx.now))
    seeded.clock.step(11)

    taken = [await take(seeded), await take(seeded)]

    assert taken == [blind.id, None]
    assert held < read < expiring < blind.id


async def test_after_a_start_nothing_is_anybodys(seeded: SeededStore) -> None:
    posted = [await post(seeded) for _ in range(2)]
    await take(seeded)
    await take(seeded)

    ended = await seeded.store.write(lambda tx: tx.pops.end_all())

    assert ended == 2
    assert [await take(seeded), await take(seeded)] == posted


async def test_mail_that_was_read_natively_while_it_was_given_waits_nowhere(seeded: SeededStore) -> None:
    first = await post(seeded)
    await post(seeded)
    await take(seeded)

    await seeded.store.write(lambda tx: tx.inboxes.mark_read(seeded.red.id, first, tx.now))

    assert await waiting(seeded) == 1


async def test_the_head_waits_since_it_was_written(seeded: SeededStore) -> None:
    written = seeded.clock.now
    message = await post(seeded)
    seeded.clock.step(5)

    assert await seeded.store.read(lambda view: view.pops.head(seeded.red.id)) == (message, written)


async def test_the_head_is_found_along_the_index_of_unread_mail(seeded: SeededStore) -> None:
    plan = seeded.store._reading.execute(f"EXPLAIN QUERY PLAN {rows._HEADS}", (1, 1)).fetchall()

    steps = [step for *_, step in plan]
    assert not any("SCAN" in step or "TEMP B-TREE" in step for step in steps), steps

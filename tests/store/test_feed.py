from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.errors import NotFound
from mcp_agent_mail.core.ids import AgentId
from tests.seeded_store import SeededStore, open_seeded_store

HOUR = Micros(3_600 * SECOND)


@pytest.fixture
async def seeded(tmp_path: Path) -> AsyncIterator[SeededStore]:
    async with open_seeded_store(tmp_path) as opened:
        yield opened


async def events(seeded: SeededStore, agent_id: AgentId, after: int = 0, limit: int = 100) -> list[tuple[int, str]]:
    found = await seeded.store.read(lambda view: view.feed.after(agent_id, after, limit, is_proven=True))
    return [(entry.cursor, entry.event) for entry in found]


async def test_deliveries_and_what_followed_them_are_one_rising_row(seeded: SeededStore) -> None:
    for _ in range(3):
        await seeded.post(seeded.letter(seeded.blue), *seeded.addressed([seeded.red]))
        await seeded.store.write(lambda tx: tx.inboxes.mark_read(seeded.red.id, tx.messages.list_sent(
            seeded.blue.id, limit=1)[0].id, tx.now))  # fmt: skip

    theirs, mine = await events(seeded, seeded.red.id), await events(seeded, seeded.blue.id)

    assert [event for _, event in theirs] == ["delivered"] * 3
    assert [event for _, event in mine] == ["read"] * 3
    assert sorted((*theirs, *mine)) == [
        (cursor, event) for pair in zip(theirs, mine, strict=True) for cursor, event in pair
    ]
    assert await events(seeded, seeded.red.id, after=theirs[0][0], limit=1) == [theirs[1]]


async def test_what_a_rolled_back_unit_let_happen_is_in_no_feed(seeded: SeededStore) -> None:
    message, _ = await seeded.post(seeded.letter(seeded.blue), *seeded.addressed([seeded.red]))

    def fail(tx: object) -> None:
        tx.inboxes.mark_read(seeded.red.id, message.id, tx.now)  # type: ignore[attr-defined]
        raise NotFound("nothing of it happens")

    with pytest.raises(NotFound):
        await seeded.store.write(fail)

    assert await events(seeded, seeded.blue.id) == []


async def test_marks_say_what_is_old_and_forgetting_raises_the_floor_in_pieces(seeded: SeededStore) -> None:
    first, _ = await seeded.post(seeded.letter(seeded.blue), *seeded.addressed([seeded.red]))
    second, _ = await seeded.post(seeded.letter(seeded.blue), *seeded.addressed([seeded.red]))
    await seeded.store.write(lambda tx: tx.inboxes.mark_all_read(seeded.red.id, [first.id, second.id], tx.now))
    tail = (await seeded.store.read(lambda view: view.feed.ends())).tail
    await seeded.store.write(lambda tx: tx.feed.mark(tx.now, HOUR))
    seeded.clock.step(60)
    await seeded.store.write(lambda tx: tx.feed.mark(tx.now, HOUR))

    assert await seeded.store.write(lambda tx: tx.feed.forget(Micros(tx.now - HOUR), tx.now, 10)) is False
    assert len(await events(seeded, seeded.blue.id)) == 2
    assert await seeded.store.write(lambda tx: tx.feed.forget(tx.now, tx.now, 1)) is True
    while await seeded.store.write(lambda tx: tx.feed.forget(tx.now, tx.now, 1)):
        pass

    assert await events(seeded, seeded.blue.id) == []
    assert (await seeded.store.read(lambda view: view.feed.ends())).floor == tail

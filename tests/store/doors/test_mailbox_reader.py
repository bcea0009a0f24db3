from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import AgentId
from mcp_agent_mail.domain.doors.names import Door
from mcp_agent_mail.store.doors import mailbox_reader as rows
from mcp_agent_mail.store.transaction import Tx
from tests.seeded_store import SeededStore, open_seeded_store


@pytest.fixture
async def seeded(tmp_path: Path) -> AsyncIterator[SeededStore]:
    async with open_seeded_store(tmp_path) as opened:
        yield opened


async def from_each(seeded: SeededStore, reader: AgentId) -> dict[AgentId, int]:
    return await seeded.store.read(lambda view: view.mailboxes.pending_from(reader))


async def has_sent_unread(seeded: SeededStore, sender: AgentId) -> bool:
    return await seeded.store.read(lambda view: view.mailboxes.has_sent_unread(sender))


async def test_what_waits_is_counted_by_sender_until_it_is_given_or_read(seeded: SeededStore) -> None:
    blue, red, fox = seeded.blue, seeded.red, seeded.fox
    for _ in range(2):
        await seeded.post(seeded.letter(blue), *seeded.addressed([red]))
    await seeded.post(seeded.letter(fox), *seeded.addressed([red]))

    before = await from_each(seeded, red.id)
    await seeded.store.write(lambda tx: tx.pops.take(red.id, Door.CLAUDE_MAILBOX, tx.now))
    given = await from_each(seeded, red.id)

    assert before == {blue.id: 2, fox.id: 1}
    assert given == {blue.id: 1, fox.id: 1}
    assert await from_each(seeded, blue.id) == {}


async def test_a_sender_has_unread_mail_elsewhere_until_all_of_it_is_read(seeded: SeededStore) -> None:
    blue, red = seeded.blue, seeded.red
    message, _ = await seeded.post(seeded.letter(blue), *seeded.addressed([red]))
    before = await has_sent_unread(seeded, blue.id)
    await seeded.store.write(lambda tx: tx.inboxes.mark_read(red.id, message.id, tx.now))

    assert (before, await has_sent_unread(seeded, blue.id)) == (True, False)
    assert not await has_sent_unread(seeded, red.id)


async def test_mail_to_oneself_waits_with_nobody_else(seeded: SeededStore) -> None:
    await seeded.post(seeded.letter(seeded.blue), *seeded.addressed([seeded.blue]))

    assert not await has_sent_unread(seeded, seeded.blue.id)


async def test_idle_are_those_of_the_door_that_were_seen_before_and_have_not_retired(seeded: SeededStore) -> None:
    def unit(tx: Tx) -> None:
        for agent, name, door in (
            (seeded.blue, "b", Door.CLAUDE_MAILBOX),
            (seeded.red, "r", Door.CLAUDE_MAILBOX),
            (seeded.fox, "f", Door.POSTAL),
        ):
            tx.wire_names.own(tx.wire_names.add(agent.project_id, agent.id, name, tx.now), door)

    await seeded.store.write(unit)
    later = Micros(seeded.clock.now + 1)

    async def idle(before: Micros, after: int = 0, limit: int = 10) -> list[tuple[int, AgentId]]:
        door = Door.CLAUDE_MAILBOX
        return await seeded.store.read(lambda view: view.mailboxes.idle(door, before, after=after, limit=limit))

    found = await idle(later)
    assert [agent for _, agent in found] == [seeded.blue.id, seeded.red.id]
    assert await idle(later, after=found[0][0]) == found[1:]
    assert await idle(later, limit=1) == found[:1]
    assert await idle(Micros(0)) == []
    await seeded.store.write(lambda tx: tx.agents.set_retired(seeded.blue.id, tx.now, tx.now))
    assert await idle(later) == found[1:]


async def test_pending_mail_is_found_along_the_index_of_unread_mail(seeded: SeededStore) -> None:
    plan = seeded.store._reading.execute(f"EXPLAIN QUERY PLAN {rows._FROM}", (1,)).fetchall()
    sent = seeded.store._reading.execute(f"EXPLAIN QUERY PLAN {rows._SENT}", (1, 1)).fetchall()

    assert any("recipients_unread" in step[3] for step in plan)
    assert any("messages_sender" in step[3] for step in sent)

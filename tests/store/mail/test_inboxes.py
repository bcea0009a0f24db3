from __future__ import annotations

import random
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import MOST_NUMBER, MessageId
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.messages import Importance
from mcp_agent_mail.store.mail.inboxes import InboxPage, MailFilter
from mcp_agent_mail.store.transaction import Tx, View
from tests.seeded_store import SeededStore, open_seeded_store


@pytest.fixture
async def seeded(tmp_path: Path) -> AsyncIterator[SeededStore]:
    async with open_seeded_store(tmp_path) as opened:
        yield opened


async def ids(seeded: SeededStore, agent: Agent, page: InboxPage) -> list[int]:
    return await seeded.store.read(lambda view: [entry.head.id for entry in view.inboxes.page(agent.id, page)])


async def unread_count(seeded: SeededStore, agent: Agent) -> int:
    found = await seeded.store.read(lambda view: view.agents.find(agent.id))
    assert found is not None
    return found.unread_count


async def post(seeded: SeededStore, **what: object) -> MessageId:
    message, _ = await seeded.post(seeded.letter(seeded.blue, **what), *seeded.addressed([seeded.red]))  # type: ignore[arg-type]
    return message.id


async def test_a_page_is_newest_first_or_oldest_first_after_a_cursor(seeded: SeededStore) -> None:
    sent = [await post(seeded) for _ in range(5)]

    assert (await ids(seeded, seeded.red, InboxPage(limit=2))) == [sent[4], sent[3]]
    cursor = await seeded.store.read(lambda view: view.inboxes.cursor(seeded.red.id, sent[1]))
    assert cursor is not None
    assert (await ids(seeded, seeded.red, InboxPage(limit=2, after_seq=cursor, oldest_first=True))) == [
        sent[2],
        sent[3],
    ]


async def test_a_message_of_another_inbox_is_no_cursor(seeded: SeededStore) -> None:
    sent = await post(seeded)

    assert await seeded.store.read(lambda view: view.inboxes.cursor(seeded.green.id, sent)) is None


async def test_filters_keep_what_they_name(seeded: SeededStore) -> None:
    plain = await post(seeded)
    high = await post(seeded, importance=Importance.HIGH)
    urgent = await post(seeded, importance=Importance.URGENT, thread_id="T", topic="Build")
    low = await post(seeded, importance=Importance.LOW, ack_required=True, thread_id="t")
    await seeded.store.write(lambda tx: tx.inboxes.mark_read(seeded.red.id, urgent, tx.now))

    page = InboxPage(limit=9)

    assert (await ids(seeded, seeded.red, page)) == [low, urgent, high, plain]
    assert (await ids(seeded, seeded.red, replace(page, keep=MailFilter.UNREAD))) == [low, high, plain]
    assert (await ids(seeded, seeded.red, replace(page, keep=MailFilter.URGENT))) == [urgent, high]
    assert (await ids(seeded, seeded.red, replace(page, keep=MailFilter.URGENT_UNREAD))) == [high]
    assert (await ids(seeded, seeded.red, replace(page, keep=MailFilter.UNACKNOWLEDGED))) == [low]
    assert (await ids(seeded, seeded.red, replace(page, thread_id="T"))) == [urgent]
    assert (await ids(seeded, seeded.red, replace(page, topic="bUILD"))) == [urgent]
    assert (await ids(seeded, seeded.red, replace(page, thread_id="T", topic="build", keep=MailFilter.UNREAD))) == []


async def test_a_time_parts_the_inbox_exactly(seeded: SeededStore) -> None:
    times, sent = [], []
    for _ in range(6):
        for _ in range(3):
            sent.append(await post(seeded))
            times.append(seeded.clock.now)
            await seeded.post(seeded.letter(seeded.red), *seeded.addressed([seeded.green, seeded.blue]))
        seeded.clock.step()

    for at in (times[0] - 1, *times, times[-1] + 1):
        seq = await seeded.store.read(lambda view, at=at: view.inboxes.seq_until(seeded.red.id, Micros(at)))  # type: ignore[misc]
        later = await ids(seeded, seeded.red, InboxPage(limit=99, after_seq=seq, oldest_first=True))
        earlier = await ids(seeded, seeded.red, InboxPage(limit=99, to_seq=seq, oldest_first=True))

        assert later == [one for one, time in zip(sent, times, strict=True) if time > at]
        assert earlier == [one for one, time in zip(sent, times, strict=True) if time <= at]


async def test_a_time_parts_an_empty_inbox_too(seeded: SeededStore) -> None:
    assert await seeded.store.read(lambda view: view.inboxes.seq_until(seeded.red.id, seeded.clock.now)) == 0


async def test_the_first_reading_and_the_first_acknowledgement_stand(seeded: SeededStore) -> None:
    sent = await post(seeded)
    first = seeded.clock.now

    async def after(act: Callable[[Tx], object]) -> tuple[object, object, object]:
        state = await seeded.store.write(act)
        seeded.clock.step()
        return (state.read_ts, state.ack_ts, state.changed)  # type: ignore[attr-defined]

    assert await after(lambda tx: tx.inboxes.mark_read(seeded.red.id, sent, tx.now)) == (first, None, True)
    assert await after(lambda tx: tx.inboxes.mark_read(seeded.red.id, sent, tx.now)) == (first, None, False)
    second = seeded.clock.now
    assert await after(lambda tx: tx.inboxes.acknowledge(seeded.red.id, sent, tx.now)) == (first, second, True)
    assert await after(lambda tx: tx.inboxes.acknowledge(seeded.red.id, sent, tx.now)) == (first, second, False)
    assert (await unread_count(seeded, seeded.red)) == 0


async def test_acknowledging_implies_reading(seeded: SeededStore) -> None:
    sent = await post(seeded)

    state = await seeded.store.write(lambda tx: tx.inboxes.acknowledge(seeded.red.id, sent, tx.now))

    assert state is not None
    assert (state.read_ts, state.ack_ts) == (seeded.clock.now, seeded.clock.now)
    assert (await unread_count(seeded, seeded.red)) == 0


async def test_nothing_changes_for_an_agent_that_is_no_recipient(seeded: SeededStore) -> None:
    sent = await post(seeded)

    assert await seeded.store.write(lambda tx: tx.inboxes.mark_read(seeded.blue.id, sent, tx.now)) is None
    assert await seeded.store.write(lambda tx: tx.inboxes.acknowledge(seeded.green.id, sent, tx.now)) is None
    assert await seeded.store.write(lambda tx: tx.inboxes.acknowledge(seeded.red.id, MessageId(999), tx.now)) is None
    assert [(await unread_count(seeded, agent)) for agent in (seeded.red, seeded.green, seeded.blue)] == [1, 0, 0]


_PAGES = [
    (InboxPage(limit=20), "recipients_inbox"),
    (InboxPage(limit=20, after_seq=3, oldest_first=True), "recipients_inbox"),
    (InboxPage(limit=20, keep=MailFilter.UNREAD), "recipients_unread"),
    (InboxPage(limit=20, keep=MailFilter.URGENT), "recipients_urgent"),
    (InboxPage(limit=20, keep=MailFilter.URGENT_UNREAD), "recipients_urgent_unread"),
    (InboxPage(limit=20, keep=MailFilter.UNACKNOWLEDGED, to_seq=9, oldest_first=True), "recipients_unacked"),
    (InboxPage(limit=20, thread_id="T", keep=MailFilter.UNREAD), "recipients_thread"),
    (InboxPage(limit=20, topic="b"), "recipients_topic"),
    (InboxPage(limit=20, topic="b", thread_id="T", keep=MailFilter.UNREAD, walk_kept=True), "recipients_unread"),
]


@pytest.mark.parametrize(("page", "index"), _PAGES)
async def test_every_page_walks_its_index_and_sorts_nothing(seeded: SeededStore, page: InboxPage, index: str) -> None:
    plans = await plans_of(seeded, lambda view: view.inboxes.page(seeded.red.id, page))

    assert len(plans) == 1
    assert index in plans[0]
    # The newest of a whole inbox count for themselves.
    assert ("recipients_sender" in plans[0]) is not page.is_newest
    assert "SCAN" not in plans[0].replace("SCAN newer", "")
    assert "TEMP B-TREE" not in plans[0]


async def test_cursors_and_times_are_found_by_index(seeded: SeededStore) -> None:
    sent = await post(seeded)

    plans = [
        *await plans_of(seeded, lambda view: view.inboxes.cursor(seeded.red.id, sent)),
        *await plans_of(seeded, lambda view: view.inboxes.state(seeded.red.id, sent)),
        *await plans_of(seeded, lambda view: view.inboxes.seq_until(seeded.red.id, seeded.clock.now)),
    ]

    assert len(plans) >= 4
    assert not any("SCAN" in plan or "TEMP B-TREE" in plan for plan in plans), plans


async def plans_of(seeded: SeededStore, query: Callable[[View], object]) -> list[str]:
    """The query plan of each statement that `query` runs."""
    statements: list[str] = []
    reading = seeded.store._reading
    reading.set_trace_callback(statements.append)
    await seeded.store.read(query)
    reading.set_trace_callback(None)
    return [
        "\n".join(row[3] for row in reading.execute(f"EXPLAIN QUERY PLAN {statement}"))
        for statement in statements
        if statement.lstrip().startswith("SELECT")
    ]


async def test_the_newest_count_the_same_of_each_sender_as_any_other_page(seeded: SeededStore) -> None:
    chance = random.Random(7)
    for _ in range(60):
        sender = chance.choice([seeded.blue, seeded.green, seeded.fox])
        await seeded.post(seeded.letter(sender), *seeded.addressed([seeded.red]))
    newest = InboxPage(limit=40)
    counted = replace(newest, seen_to_seq=MOST_NUMBER - 1)

    of_red = seeded.red.id
    pages = await seeded.store.read(lambda view: [view.inboxes.page(of_red, one) for one in (newest, counted)])

    assert (newest.is_newest, counted.is_newest) == (True, False)
    assert pages[0] == pages[1]
    assert max(entry.newer_from_sender for entry in pages[0]) > 5

"""The one look for all who wait: whom it wakes, whom it leaves alone, and how little it asks."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import Any

import pytest

from mcp_agent_mail.core.ids import AgentId
from mcp_agent_mail.features.delivery.last_look import FoundLook
from mcp_agent_mail.features.delivery.shared_look import AT_ONCE, SharedLook
from mcp_agent_mail.features.delivery.waiters import MailWaiter, WaiterKind
from tests.features.delivery.harness import DeliveryHarness, open_waiters


def shared_look(harness: DeliveryHarness) -> SharedLook:
    return SharedLook(harness.seeded.store, harness.service.waiters)


def elsewhere(harness: DeliveryHarness, statement: str, *values: object) -> None:
    """By a connection that the store knows nothing of."""
    with closing(sqlite3.connect(harness.seeded.store.path)) as connection, connection:
        connection.execute(statement, values)


@contextmanager
def silent(harness: DeliveryHarness, *, token_hash: bytes | None = None) -> Iterator[MailWaiter]:
    """One who has looked at RedStone's feed and found nothing new."""
    red, cursor = harness.seeded.red, harness.service.feed_tail()
    with harness.service.waiters.place(red.id, WaiterKind.STREAM) as waiter:
        waiter.begin_look()
        waiter.last_look = FoundLook(red.project_id, token_hash, cursor)
        yield waiter


async def test_who_would_find_nothing_new_is_left_alone_and_told_how_far_was_looked(harness: DeliveryHarness) -> None:
    with silent(harness) as waiter:
        elsewhere(harness, "UPDATE counters SET value = value + 5 WHERE name = 'delivery'")
        await shared_look(harness).look()

        assert (waiter.is_changed, waiter.quiet_to) == (False, harness.service.feed_tail())


async def test_a_delivery_that_was_not_told_wakes_once(harness: DeliveryHarness) -> None:
    with silent(harness) as waiter:
        await harness.sent_id()
        await shared_look(harness).look()
        assert (waiter.is_changed, waiter.quiet_to) == (True, 0)

        waiter.begin_look()
        waiter.last_look = FoundLook(harness.seeded.red.project_id, None, harness.service.feed_tail())
        await shared_look(harness).look()
        assert waiter.is_changed is False


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE agents SET retired_ts = 1 WHERE id = ?",
        "UPDATE agents SET token_hash = x'00' WHERE id = ?",
        "UPDATE projects SET archived_ts = 1 WHERE id = (SELECT project_id FROM agents WHERE id = ?)",
    ],
)
async def test_what_another_process_does_to_its_agent_wakes_who_waits(harness: DeliveryHarness, statement: str) -> None:
    store, red = harness.seeded.store, harness.seeded.red
    states = await store.read(lambda view: view.feed.states_of([red.id]))
    with silent(harness, token_hash=states[red.id].token_hash) as waiter:
        await shared_look(harness).look()
        before = waiter.is_changed

        elsewhere(harness, statement, red.id)
        await shared_look(harness).look()

        assert (before, waiter.is_changed) == (False, True)


async def test_who_cannot_be_judged_is_woken_each_time(harness: DeliveryHarness) -> None:
    look = shared_look(harness)
    with silent(harness) as waiter:
        for _ in range(2):
            waiter.begin_look()
            waiter.last_look = None
            await look.look()
            assert waiter.is_changed


async def test_a_stream_of_resources_is_doubted_at_first_and_then_when_its_agent_changes(
    harness: DeliveryHarness,
) -> None:
    red, blue, waiters = harness.seeded.red, harness.seeded.blue, harness.service.waiters
    stream, look = waiters.unseated_stream(red.id), shared_look(harness)
    waiters.seat(stream)
    waiters.hang(stream)
    stream.take_doubt()
    waiters.follow(stream, blue.id)
    doubts = []
    for statement in (None, None, "UPDATE agents SET retired_ts = 1 WHERE id = ?", None):
        if statement is not None:
            elsewhere(harness, statement, blue.id)
        await look.look()
        doubts.append(stream.take_doubt())
    waiters.unfollow(stream, blue.id)
    waiters.unhang(stream)
    await look.look()

    assert doubts == [True, False, True, False]
    assert look._known == {}


async def test_what_was_known_before_a_stream_came_says_nothing_of_it(harness: DeliveryHarness) -> None:
    """What its reader was found to be may be older, or newer, than the last look."""
    red, waiters, look = harness.seeded.red, harness.service.waiters, shared_look(harness)
    first, second = waiters.unseated_stream(red.id), waiters.unseated_stream(red.id)
    doubts = []
    for came in (first, second, None):
        if came is not None:
            waiters.hang(came)
            came.take_doubt()
        await look.look()
        doubts.append((first.take_doubt(), second.take_doubt()))

    assert doubts == [(True, False), (False, True), (False, False)]


async def test_a_pass_that_the_stop_comes_upon_asks_for_no_more(harness: DeliveryHarness) -> None:
    asked: list[object] = []
    store, count = harness.seeded.store, 2 * AT_ONCE + 1
    waiters = open_waiters(store, limit=2 * count)
    look, read = SharedLook(store, waiters), store.read

    async def stopping(query: Any) -> Any:
        asked.append(query)
        look.keeper.stopping.set()
        return await read(query)

    store.read = stopping  # type: ignore[method-assign]  # counted
    try:
        with ExitStack() as places:
            for number in range(count):
                places.enter_context(waiters.place(AgentId(1_000 + number), WaiterKind.STREAM))
            await look.look()
    finally:
        del store.read

    assert len(asked) == 1


async def test_many_cost_two_questions_for_each_few_hundred_and_nobody_none(harness: DeliveryHarness) -> None:
    asked: list[str] = []
    store, count = harness.seeded.store, 2 * AT_ONCE + 1
    waiters = open_waiters(store, limit=2 * count)
    look = SharedLook(store, waiters)
    store._reading.set_trace_callback(asked.append)

    await look.look()
    nobody = len(asked)
    with ExitStack() as places:
        for number in range(count):
            places.enter_context(waiters.place(AgentId(1_000 + number), WaiterKind.STREAM))
        await look.look()
    store._reading.set_trace_callback(None)

    assert nobody == 0
    assert len([one for one in asked if one.lstrip().startswith("SELECT")]) == 2 * 3

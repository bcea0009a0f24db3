"""Who waits in a process: places, their bounds, and who is woken."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from mcp_agent_mail.core.errors import Unavailable
from mcp_agent_mail.core.ids import AgentId
from mcp_agent_mail.domain.presence import ListeningVia
from mcp_agent_mail.features.delivery.waiters import (
    PLACES_EACH,
    MailWaiter,
    NoPlaceToWait,
    WaiterKind,
    Waiters,
    WaitingEnds,
)
from mcp_agent_mail.notify.bus import MailBus, RightsBus
from tests.features.delivery.harness import open_waiters
from tests.seeded_store import SeededStore, open_seeded_store

BLUE, RED = AgentId(1), AgentId(2)
FAR_S = 600.0
"""Longer than the test may take: whoever is not woken fails it."""


class Told:
    """A registry that is told by hand."""

    def __init__(self, limit: int = 1_000) -> None:
        self.listeners: list[Callable[[frozenset[AgentId]], None]] = []
        self.of_rights: list[Callable[[frozenset[AgentId]], None]] = []
        self.settled = 0
        rights = RightsBus(self.of_rights.append)
        self.waiters = Waiters(MailBus(self.listeners.append), rights, self.settle, limit=limit)

    async def settle(self) -> None:
        self.settled += 1

    def tell(self, *agents: AgentId) -> None:
        for listener in self.listeners:
            listener(frozenset(agents))


async def woken(waiter: MailWaiter, seconds: float = FAR_S) -> bool:
    await waiter.woken(seconds)
    return waiter.is_changed


async def test_nothing_is_asked_of_the_bus_before_somebody_waits_and_then_once() -> None:
    told = Told()
    assert told.listeners == []

    await told.waiters.hear()
    await told.waiters.hear()

    assert (len(told.listeners), told.settled) == (1, 1)


async def test_while_the_store_cannot_be_written_whoever_waits_may_and_the_next_asks_again() -> None:
    tries: list[str] = []

    async def settle() -> None:
        tries.append("try")
        if len(tries) == 1:
            raise Unavailable("The disk is full.")

    waiters = Waiters(MailBus(lambda _: None), RightsBus(lambda _: None), settle, limit=10)

    for _ in range(3):
        await waiters.hear()

    assert len(tries) == 2


async def test_all_waits_of_an_agent_are_woken_and_those_of_nobody_else() -> None:
    told = Told()
    await told.waiters.hear()
    with (
        told.waiters.place(BLUE, WaiterKind.WAIT) as first,
        told.waiters.place(BLUE, WaiterKind.STREAM) as second,
        told.waiters.place(RED, WaiterKind.WAIT) as other,
    ):
        waits = [asyncio.create_task(woken(one)) for one in (first, second)]
        await asyncio.sleep(0)

        told.tell(BLUE, AgentId(9))

        assert await asyncio.gather(*waits) == [True, True]
        assert not other.is_changed


async def test_a_commit_that_changes_many_agents_wakes_the_few_that_wait() -> None:
    told = Told()
    await told.waiters.hear()
    with told.waiters.place(BLUE, WaiterKind.WAIT) as waiter, told.waiters.place(RED, WaiterKind.WAIT) as other:
        told.tell(BLUE, *map(AgentId, range(10, 200)))

        assert (waiter.is_changed, other.is_changed) == (True, False)


async def test_what_changes_while_somebody_looks_is_not_missed() -> None:
    told = Told()
    await told.waiters.hear()
    with told.waiters.place(BLUE, WaiterKind.WAIT) as waiter:
        waiter.begin_look()
        told.tell(BLUE)

        assert await woken(waiter)


async def test_what_changed_before_a_look_wakes_nobody_after_it() -> None:
    told = Told()
    await told.waiters.hear()
    with told.waiters.place(BLUE, WaiterKind.WAIT) as waiter:
        told.tell(BLUE)
        waiter.begin_look()

        assert not await woken(waiter, 0.001)


async def test_sixty_four_places_are_an_agents_and_the_next_one_is_refused() -> None:
    told = Told()
    with ExitStack() as stack:
        for number in range(PLACES_EACH):
            kind = WaiterKind.STREAM if number % 2 else WaiterKind.WAIT
            stack.enter_context(told.waiters.place(BLUE, kind))

        with pytest.raises(NoPlaceToWait) as refused, told.waiters.place(BLUE, WaiterKind.WAIT):
            pass
        with told.waiters.place(RED, WaiterKind.WAIT):
            pass

    assert (PLACES_EACH, refused.value.code) == (64, "UNAVAILABLE")
    assert refused.value.data == {"waiting": 64, "limit": 64, "retry_after_s": 5}


async def test_who_looks_at_an_agents_mail_takes_none_of_its_places_and_one_of_all() -> None:
    waiters = Told(limit=PLACES_EACH + 2).waiters
    with ExitStack() as stack:
        stack.enter_context(waiters.place(BLUE, WaiterKind.WAIT, is_proven=True, is_agents=False))
        assert waiters.via_of(BLUE) is None
        for _ in range(PLACES_EACH):
            stack.enter_context(waiters.place(BLUE, WaiterKind.STREAM, is_proven=True))

        assert waiters.via_of(BLUE) is ListeningVia.STREAM
        stack.enter_context(waiters.place(BLUE, WaiterKind.WAIT, is_proven=True, is_agents=False))
        with (
            pytest.raises(NoPlaceToWait) as refused,
            waiters.place(BLUE, WaiterKind.WAIT, is_proven=True, is_agents=False),
        ):
            pass

    assert refused.value.data["limit"] == PLACES_EACH + 2


async def test_the_limit_holds_for_waits_and_streams_together_and_a_place_that_is_left_is_free() -> None:
    told = Told(limit=2)
    with told.waiters.place(BLUE, WaiterKind.WAIT), told.waiters.place(RED, WaiterKind.STREAM) as stream:
        with pytest.raises(NoPlaceToWait) as refused, told.waiters.place(AgentId(3), WaiterKind.WAIT):
            pass
        figures = told.waiters.figures()
        stream.leave()
        stream.leave()
        with told.waiters.place(AgentId(3), WaiterKind.WAIT):
            after = told.waiters.figures()

    assert refused.value.data == {"waiting": 2, "limit": 2, "retry_after_s": 5}
    assert (figures.waits, figures.streams, figures.limit) == (1, 1, 2)
    assert (after.waits, after.streams) == (2, 0)
    assert (told.waiters.figures().waits, told.waiters.figures().streams) == (0, 0)


async def test_connections_bound_the_limit_and_never_raise_it() -> None:
    waiters = Told(limit=100).waiters

    waiters.bound(50)
    waiters.bound(70)

    assert waiters.figures().limit == 50


async def test_whoever_leaves_is_woken_and_told_so_and_its_place_is_free_at_once() -> None:
    told = Told()
    with told.waiters.place(BLUE, WaiterKind.WAIT) as waiter:
        waiting = asyncio.create_task(woken(waiter))
        await asyncio.sleep(0)

        waiter.leave()

        assert told.waiters.via_of(BLUE) is None
        assert await waiting
        assert waiter.has_left


async def test_a_cancelled_wait_leaves_no_place() -> None:
    told = Told()

    async def wait() -> None:
        with told.waiters.place(BLUE, WaiterKind.WAIT) as waiter:
            await woken(waiter)

    waiting = asyncio.create_task(wait())
    await asyncio.sleep(0)
    assert told.waiters.via_of(BLUE) is ListeningVia.WAIT

    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)

    assert told.waiters.via_of(BLUE) is None


async def test_a_stop_wakes_all_and_takes_nobody_any_more() -> None:
    told = Told()
    with told.waiters.place(BLUE, WaiterKind.WAIT) as first, told.waiters.place(RED, WaiterKind.STREAM) as second:
        waits = [asyncio.create_task(woken(one)) for one in (first, second)]
        await asyncio.sleep(0)

        told.waiters.close()

        assert await asyncio.gather(*waits) == [True, True]
    with pytest.raises(WaitingEnds) as refused, told.waiters.place(BLUE, WaiterKind.WAIT):
        pass
    assert refused.value.data == {"retry_after_s": 5}


@pytest.fixture
async def seeded(tmp_path: Path) -> AsyncIterator[SeededStore]:
    async with open_seeded_store(tmp_path) as opened:
        yield opened


async def test_a_commit_that_had_begun_when_the_first_came_can_be_read_by_it(seeded: SeededStore) -> None:
    waiters = open_waiters(seeded.store)
    begun = asyncio.create_task(seeded.post(seeded.letter(seeded.blue), *seeded.addressed([seeded.red])))
    await asyncio.sleep(0)

    await waiters.hear()

    assert seeded.store.read_now(lambda view: view.inboxes.counts(seeded.red.id)).total == 1
    await begun


async def test_a_delivery_wakes_its_recipient_and_its_reading_the_sender(seeded: SeededStore) -> None:
    waiters = open_waiters(seeded.store)
    await waiters.hear()
    with (
        waiters.place(seeded.red.id, WaiterKind.WAIT) as recipient,
        waiters.place(seeded.blue.id, WaiterKind.STREAM) as sender,
    ):
        message, _ = await seeded.post(seeded.letter(seeded.blue), *seeded.addressed([seeded.red]))
        assert await woken(recipient)
        assert not sender.is_changed

        await seeded.store.write(lambda tx: tx.inboxes.mark_read(seeded.red.id, message.id, tx.now))

        assert await woken(sender)


async def test_a_stream_of_nobody_has_a_place_once_and_is_woken_at_a_stop() -> None:
    told = Told(limit=1)
    stream, other = told.waiters.unseated_stream(), told.waiters.unseated_stream()
    told.waiters.seat(stream)
    told.waiters.seat(stream)

    with pytest.raises(NoPlaceToWait):
        told.waiters.seat(other)
    told.waiters.close()

    assert told.waiters.figures().streams == 1
    assert await woken(stream)
    told.waiters.free(stream)
    told.waiters.free(stream)
    assert told.waiters.figures().streams == 0


async def test_whom_a_stream_follows_at_its_word_is_listening_by_it_and_uses_one_of_its_places() -> None:
    told = Told()
    streams = [told.waiters.unseated_stream() for _ in range(PLACES_EACH)]
    for stream in streams[1:]:
        told.waiters.follow(stream, RED)
    with told.waiters.place(RED, WaiterKind.WAIT):
        both = told.waiters.via_of(RED)
        with pytest.raises(NoPlaceToWait):
            told.waiters.follow(streams[0], RED)
    alone = told.waiters.via_of(RED)
    for stream in streams[1:]:
        told.waiters.unfollow(stream, RED)

    assert (both, alone) == (ListeningVia.WAIT, ListeningVia.STREAM)
    assert (told.waiters.via_of(RED), told.waiters.via_of(BLUE)) == (None, None)


async def test_the_place_of_an_agents_own_stream_is_counted_once_whatever_it_follows() -> None:
    told = Told()
    streams = [told.waiters.unseated_stream(RED) for _ in range(PLACES_EACH)]
    for stream in streams:
        told.waiters.seat(stream)
        told.waiters.follow(stream, RED)
    last = told.waiters.unseated_stream(RED)

    with pytest.raises(NoPlaceToWait):
        told.waiters.seat(last)
    told.waiters.unfollow(streams[0], RED)
    told.waiters.free(streams[0])
    told.waiters.seat(last)

    assert told.waiters.figures().streams == PLACES_EACH


async def test_who_only_names_an_agent_leaves_it_its_places() -> None:
    told = Told()
    with ExitStack() as stack:
        for _ in range(PLACES_EACH):
            stack.enter_context(told.waiters.place(BLUE, WaiterKind.WAIT))
        with pytest.raises(NoPlaceToWait), told.waiters.place(BLUE, WaiterKind.WAIT):
            pass

        with told.waiters.place(BLUE, WaiterKind.WAIT, is_proven=True):
            waiting = told.waiters.figures().waits

    assert waiting == PLACES_EACH + 1


async def test_all_who_prove_nothing_leave_one_place_in_eight_to_the_proven() -> None:
    told = Told(limit=16)
    with ExitStack() as stack:
        for number in range(7):
            stack.enter_context(told.waiters.place(AgentId(10 + number), WaiterKind.WAIT))
            told.waiters.seat(told.waiters.unseated_stream())
        with pytest.raises(NoPlaceToWait) as refused, told.waiters.place(BLUE, WaiterKind.WAIT):
            pass
        with pytest.raises(NoPlaceToWait):
            told.waiters.seat(told.waiters.unseated_stream())
        stack.enter_context(told.waiters.place(BLUE, WaiterKind.WAIT, is_proven=True))
        told.waiters.seat(told.waiters.unseated_stream(RED))
        with pytest.raises(NoPlaceToWait) as full, told.waiters.place(BLUE, WaiterKind.WAIT, is_proven=True):
            pass

    assert refused.value.data == {"waiting": 14, "limit": 14, "retry_after_s": 5}
    assert "without proof" in refused.value.text
    assert full.value.data == {"waiting": 16, "limit": 16, "retry_after_s": 5}


async def test_a_place_that_is_left_is_free_for_whoever_proves_nothing() -> None:
    told = Told(limit=8)
    for _ in range(20):
        with told.waiters.place(BLUE, WaiterKind.WAIT), told.waiters.place(BLUE, WaiterKind.WAIT, is_proven=True):
            pass

    with ExitStack() as stack:
        for number in range(7):
            stack.enter_context(told.waiters.place(AgentId(10 + number), WaiterKind.WAIT))
        assert told.waiters.figures().waits == 7

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from mcp_agent_mail.core.concurrency.hearing import heard_by
from mcp_agent_mail.core.ids import MessageId
from mcp_agent_mail.domain.doors.names import Door, UnfitWireName
from mcp_agent_mail.domain.messages import NewRecipient, RecipientKind
from mcp_agent_mail.features.delivery.waiters import WaiterLeft, WaitingEnds
from mcp_agent_mail.features.doors import pop as popping
from mcp_agent_mail.features.doors.names import DoorActor
from mcp_agent_mail.features.doors.results import Pending, Popped
from mcp_agent_mail.store.transaction import Tx
from tests.features.doors.harness import DoorsHarness, ToldHearing, at, settled, waiting
from tests.seeded_store import SeededStore


async def test_who_waits_gets_what_comes(harness: DoorsHarness) -> None:
    await harness.speak("bob")
    waits = asyncio.ensure_future(harness.doors.pop(at("bob"), wait_s=60))
    await waiting(harness, "bob")

    await harness.send("alice", "bob", "hi")

    got = await asyncio.wait_for(waits, 5)
    assert got is not None
    assert got.body == "hi"


async def test_who_waits_in_vain_gets_nothing_and_who_would_not_wait_writes_nothing(harness: DoorsHarness) -> None:
    await harness.speak("bob")
    changes = await harness.rows("PRAGMA data_version")

    assert await harness.doors.pop(at("bob"), wait_s=0) is None
    unchanged = await harness.rows("PRAGMA data_version")
    assert await harness.doors.pop(at("bob"), wait_s=0.01) is None

    assert unchanged == changes
    assert harness.waiters.figures().waits == 0


async def test_two_wait_and_one_gets_it(harness: DoorsHarness) -> None:
    await harness.speak("bob")
    waits = [asyncio.ensure_future(harness.doors.pop(at("bob"), wait_s=60)) for _ in range(2)]
    await waiting(harness, "bob", 2)

    await harness.send("alice", "bob", "1")
    done, others = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED, timeout=5)
    await settled(harness)
    still = [one for one in others if not one.done()]
    await harness.send("alice", "bob", "2")
    last = await asyncio.wait_for(still[0], 5)

    got = done.pop().result()
    assert got is not None
    assert last is not None
    assert (got.body, len(still), last.body) == ("1", 1, "2")


async def test_what_is_given_back_wakes_who_waits(harness: DoorsHarness) -> None:
    await harness.send("alice", "bob", "1")
    hearing = ToldHearing()
    with heard_by(hearing):
        await harness.doors.pop(at("bob"), wait_s=0)
    waits = asyncio.ensure_future(harness.doors.pop(at("bob"), wait_s=60))
    await waiting(harness, "bob")
    await settled(harness)

    hearing.lost[0]()

    got = await asyncio.wait_for(waits, 5)
    assert got is not None
    assert got.body == "1"


async def test_who_hangs_up_while_waiting_takes_nothing_with_it(harness: DoorsHarness) -> None:
    await harness.speak("bob")
    hearing = ToldHearing()
    with heard_by(hearing):
        waits = asyncio.ensure_future(harness.doors.pop(at("bob"), wait_s=60))
    await waiting(harness, "bob")
    await settled(harness)

    hearing.leave[0]()
    with pytest.raises(WaiterLeft):
        await asyncio.wait_for(waits, 5)
    await harness.send("alice", "bob", "1")

    got = await harness.pop("bob")
    assert got is not None


class LeavingHearing(ToldHearing):
    """Mail comes for the reader of message 1, who goes, both before the first look of the wait."""

    def __init__(self, seeded: SeededStore) -> None:
        super().__init__()
        self._seeded = seeded

    @contextmanager
    def watched(self, tell: Callable[[], None]) -> Iterator[None]:
        def deliver(tx: Tx) -> None:
            bob = tx.agents.find(tx.messages.recipients(MessageId(1))[0].agent_id)
            assert bob is not None
            project = tx.projects.find(bob.project_id)
            assert project is not None
            tx.messages.add(
                self._seeded.letter(self._seeded.blue),
                [NewRecipient(agent=bob, project=project, kind=RecipientKind.TO)],
                tx.now,
            )

        self._seeded.store.write_soon(deliver)
        tell()
        yield


async def test_who_has_left_as_it_is_given_leaves_it_to_the_next(harness: DoorsHarness) -> None:
    await harness.send("alice", "bob", "first")
    await harness.pop("bob")
    with heard_by(LeavingHearing(harness.seeded)), pytest.raises(WaiterLeft):
        await harness.doors.pop(at("bob"), wait_s=60)
    await settled(harness)

    got = await harness.pop("bob")
    assert got is not None
    assert got.sender == "BlueLake@code-app"


async def test_who_has_left_and_is_cancelled_before_it_is_given_back_leaves_it_all_the_same(
    harness: DoorsHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    await harness.send("alice", "bob", "first")
    await harness.pop("bob")
    loop, store, really_take = asyncio.get_running_loop(), harness.seeded.store, popping.take
    is_busy, may_go_on = threading.Event(), threading.Event()

    def busy(_: Tx) -> None:
        is_busy.set()
        assert may_go_on.wait(10)

    def take(tx: Tx, speaker: DoorActor, door: Door) -> Popped | None:
        taken = really_take(tx, speaker, door)
        if taken is not None:
            # Before whatever the call itself asks next.
            loop.call_soon_threadsafe(store.write_soon, busy)
        return taken

    monkeypatch.setattr(popping, "take", take)
    with heard_by(LeavingHearing(harness.seeded)):
        taking = asyncio.ensure_future(harness.doors.pop(at("bob"), wait_s=60))
    assert await asyncio.to_thread(is_busy.wait, 10)
    taking.cancel()
    await asyncio.gather(taking, return_exceptions=True)
    may_go_on.set()
    monkeypatch.undo()
    await settled(harness)

    got = await harness.pop("bob")
    assert got is not None
    assert got.sender == "BlueLake@code-app"


async def test_a_call_that_is_cancelled_while_it_takes_gives_back(
    harness: DoorsHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    await harness.send("alice", "bob", "1")
    loop, cancelled, really_take = asyncio.get_running_loop(), threading.Event(), popping.take

    def cancel() -> None:
        taking.cancel()
        cancelled.set()

    def take(tx: Tx, speaker: DoorActor, door: Door) -> Popped | None:
        taken = really_take(tx, speaker, door)
        loop.call_soon_threadsafe(cancel)
        assert cancelled.wait(10)
        return taken

    monkeypatch.setattr(popping, "take", take)
    taking = asyncio.ensure_future(harness.doors.pop(at("bob"), wait_s=0))
    await asyncio.gather(taking, return_exceptions=True)
    monkeypatch.undo()
    await settled(harness)
    await settled(harness)

    assert taking.cancelled()
    assert await harness.rows("SELECT count(*) FROM pops") == [(0,)]
    assert (await harness.pop("bob")) is not None


async def test_a_stop_ends_the_waits(harness: DoorsHarness) -> None:
    await harness.speak("bob")
    waits = asyncio.ensure_future(harness.doors.pop(at("bob"), wait_s=60))
    await waiting(harness, "bob")
    await settled(harness)

    harness.waiters.close()

    with pytest.raises(WaitingEnds):
        await asyncio.wait_for(waits, 5)


async def test_pending_counts_and_makes_nothing(harness: DoorsHarness) -> None:
    nothing = [await harness.doors.pending(at("bob")), await harness.doors.pending(at("bob", project="/nowhere"))]
    since = harness.seeded.clock.now
    await harness.send("alice", "bob", "1")
    harness.seeded.clock.step()
    await harness.send("alice", "bob", "2")

    twice = [await harness.doors.pending(at("BOB", Door.CLAUDE_MAILBOX)) for _ in range(2)]

    assert nothing == [Pending(count=0, oldest_ts=None)] * 2
    assert twice == [Pending(count=2, oldest_ts=since)] * 2
    assert await harness.doors.pending(at("carol")) == Pending(count=0, oldest_ts=None)
    assert await harness.rows("SELECT count(*) FROM wire_names") == [(2,)]
    with pytest.raises(UnfitWireName):
        await harness.doors.pending(at("a b"))


async def test_two_agents_in_a_loop_lose_and_double_nothing(harness: DoorsHarness) -> None:
    async def loop(name: str, other: str, *, begins: bool) -> list[str]:
        got = []
        if begins:
            await harness.send(name, other, f"{name} 0")
        for turn in range(20):
            popped = await harness.doors.pop(at(name), wait_s=30)
            assert popped is not None
            await harness.doors.settle(popped)
            got.append(popped.body)
            if turn < 19 or not begins:
                await harness.send(name, other, f"{name} {turn + begins}", popped.id if turn % 2 else None)
        return got

    alice, bob = await asyncio.gather(loop("alice", "bob", begins=True), loop("bob", "alice", begins=False))

    assert alice == [f"bob {turn}" for turn in range(20)]
    assert bob == [f"alice {turn}" for turn in range(20)]

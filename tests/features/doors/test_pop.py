from __future__ import annotations

import asyncio
import random
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from mcp_agent_mail.core.concurrency.hearing import heard_by
from mcp_agent_mail.domain.doors.names import Door, UnfitWireName
from mcp_agent_mail.features.delivery.waiters import WaiterLeft, WaitingEnds
from mcp_agent_mail.features.doors.results import Pending, Popped
from tests.features.doors.harness import DoorsHarness, at, open_doors


@dataclass
class ToldHearing:
    """A request of which the test says what became of its answer."""

    began_s: float = 0.0
    leave: list[Callable[[], None]] = field(default_factory=list)
    lost: list[Callable[[], None]] = field(default_factory=list)
    written: list[Callable[[], None]] = field(default_factory=list)

    @contextmanager
    def watched(self, tell: Callable[[], None]) -> Iterator[None]:
        self.leave.append(tell)
        yield

    def unless_heard(self, undo: Callable[[], None]) -> None:
        self.lost.append(undo)

    def once_sent(self, sent: Callable[[], None], read: Callable[[], None], unread: Callable[[], None]) -> None:
        assert read is not None
        assert unread is not None
        self.written.append(sent)


async def waiting(harness: DoorsHarness, name: str, count: int = 1) -> None:
    """Until so many wait for the mail of this name."""
    (agent_id,) = (await harness.rows(f"SELECT agent_id FROM wire_names WHERE name = '{name}'"))[0]
    while len(harness.waiters.of(agent_id)) < count:
        await asyncio.sleep(0)


async def settled(harness: DoorsHarness) -> None:
    await harness.seeded.store.write(lambda _: None)


async def unread(harness: DoorsHarness, name: str) -> int:
    found = await harness.rows(f"SELECT unread_count FROM agents WHERE name = '{name}'")
    return int(found[0][0])


async def test_it_is_read_once_its_answer_was_written_and_at_that_time(harness: DoorsHarness) -> None:
    await harness.send("alice", "bob", "hi")
    hearing = ToldHearing()

    with heard_by(hearing):
        popped = await harness.doors.pop(at("bob"), wait_s=0)
    before = await unread(harness, "bob")
    harness.seeded.clock.step(3)
    hearing.written[0]()
    await settled(harness)

    assert popped is not None
    assert (before, await unread(harness, "bob")) == (1, 0)
    assert await harness.rows("SELECT read_ts, ack_ts FROM recipients") == [(harness.seeded.clock.now, None)]
    kinds = await harness.rows("SELECT kind FROM outbox WHERE message_id IS NOT NULL ORDER BY seq")
    assert kinds == [("mail",), ("receipt",)]
    assert await harness.rows("SELECT count(*) FROM pops") == [(0,)]


async def test_it_is_the_next_ones_where_its_answer_was_not_written(harness: DoorsHarness) -> None:
    await harness.send("alice", "bob", "1")
    await harness.send("alice", "bob", "2")
    hearing = ToldHearing()
    with heard_by(hearing):
        await harness.doors.pop(at("bob"), wait_s=0)

    hearing.lost[0]()
    got = [await harness.pop("bob"), await harness.pop("bob"), await harness.pop("bob")]

    assert [one and one.body for one in got] == ["1", "2", None]


async def test_an_answer_that_is_under_way_is_nobody_elses(harness: DoorsHarness) -> None:
    await harness.send("alice", "bob", "1")
    first = await harness.doors.pop(at("bob"), wait_s=0)

    second = await harness.doors.pop(at("bob"), wait_s=0)
    pending = await harness.doors.pending(at("bob"))

    assert first is not None
    assert second is None
    assert pending == Pending(count=0, oldest_ts=None)
    assert await unread(harness, "bob") == 1  # Natively it is unread until it was written.


async def test_after_a_start_what_was_given_and_not_settled_is_given_again(tmp_path: Path) -> None:
    async with open_doors(tmp_path) as harness:
        await harness.send("alice", "bob", "1")
        await harness.send("alice", "bob", "2")
        await harness.doors.pop(at("bob"), wait_s=0)

        given = await harness.doors.give_back_open()
        harness.doors.start()

        assert given == 1
        assert [one.body for one in [await harness.pop("bob"), await harness.pop("bob")] if one] == ["1", "2"]


async def test_settling_or_giving_back_late_changes_nothing(harness: DoorsHarness) -> None:
    await harness.send("alice", "bob", "1")
    first = await harness.doors.pop(at("bob"), wait_s=0)
    assert first is not None
    await harness.doors.give_back(first)
    harness.seeded.clock.step()
    second = await harness.doors.pop(at("bob"), wait_s=0)
    assert second is not None

    await harness.doors.settle(first)
    await harness.doors.give_back(first)

    assert await unread(harness, "bob") == 1
    assert await harness.doors.pop(at("bob"), wait_s=0) is None
    await harness.doors.settle(second)
    await harness.doors.give_back(second)
    assert await harness.doors.pop(at("bob"), wait_s=0) is None
    assert await unread(harness, "bob") == 0


async def test_who_waits_gets_what_comes(harness: DoorsHarness) -> None:
    await harness.pop("bob")
    waits = asyncio.ensure_future(harness.doors.pop(at("bob"), wait_s=60))
    await waiting(harness, "bob")

    await harness.send("alice", "bob", "hi")

    got = await asyncio.wait_for(waits, 5)
    assert got is not None
    assert got.body == "hi"


async def test_who_waits_in_vain_gets_nothing_and_who_would_not_wait_writes_nothing(harness: DoorsHarness) -> None:
    await harness.pop("bob")
    changes = await harness.rows("SELECT total_changes()")

    assert await harness.doors.pop(at("bob"), wait_s=0.01) is None
    assert await harness.doors.pop(at("bob"), wait_s=0) is None

    assert await harness.rows("SELECT total_changes()") == changes
    assert harness.waiters.figures().waiting == 0


async def test_two_wait_and_one_gets_it(harness: DoorsHarness) -> None:
    await harness.pop("bob")
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
    await harness.pop("bob")
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


async def test_who_hangs_up_as_it_is_given_leaves_it_to_the_next(harness: DoorsHarness) -> None:
    await harness.pop("bob")
    hearing = ToldHearing()
    with heard_by(hearing):
        waits = asyncio.ensure_future(harness.doors.pop(at("bob"), wait_s=60))
    await waiting(harness, "bob")
    await settled(harness)
    sending = asyncio.ensure_future(harness.send("alice", "bob", "1"))
    while not (await harness.rows("SELECT count(*) FROM pops"))[0][0]:
        await asyncio.sleep(0)

    hearing.leave[0]()
    await sending
    outcome = (await asyncio.gather(waits, return_exceptions=True))[0]

    if isinstance(outcome, Popped):  # It had its answer already, which then is not written.
        hearing.lost[0]()
    else:
        assert isinstance(outcome, WaiterLeft)
    got = await harness.pop("bob")
    assert got is not None


async def test_a_call_that_is_cancelled_while_it_takes_gives_back(harness: DoorsHarness) -> None:
    await harness.send("alice", "bob", "1")
    taking = asyncio.ensure_future(harness.doors.pop(at("bob"), wait_s=0))
    for _ in range(3):
        await asyncio.sleep(0)

    taking.cancel()
    await asyncio.gather(taking, return_exceptions=True)
    await settled(harness)
    await settled(harness)

    assert taking.cancelled()
    assert await harness.rows("SELECT count(*) FROM pops") == [(0,)]
    assert (await harness.pop("bob")) is not None


async def test_a_stop_ends_the_waits(harness: DoorsHarness) -> None:
    await harness.pop("bob")
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


async def test_what_was_read_natively_is_not_given(harness: DoorsHarness) -> None:
    sent = await harness.send("alice", "bob", "1")
    await harness.call("mark_message_read", agent_name="bob", message_id=sent.message_id)

    assert await harness.pop("bob") is None


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


@pytest.mark.parametrize("seed", range(6))
async def test_in_any_history_each_message_is_had_once_and_in_order(harness: DoorsHarness, seed: int) -> None:
    """Beside a model: per mailbox the messages in order of delivery, and what is given of them."""
    draw = random.Random(seed)  # noqa: S311  # no secret
    names = ["ann", "Bob", "名前"]
    waits: dict[str, list[str]] = defaultdict(list)
    given: deque[tuple[str, Popped]] = deque()
    had: list[str] = []
    for step in range(150):
        harness.seeded.clock.step(draw.random())
        name = draw.choice(names)
        act = draw.choice(["send", "send", "pop", "pop", "pop", "settle", "back", "start"] if step % 40 else ["start"])
        if act == "send":
            sent = await harness.send(draw.choice(names), name, f"{step}", draw.choice([None, "x", f"{step}"]))
            waits[name].append(f"{step}")
            assert not sent.is_repeat
        elif act == "pop":
            popped = await harness.doors.pop(at(name.upper()), wait_s=0)
            out = {one.body for whose, one in given if whose == name}
            expected = next((body for body in waits[name] if body not in out), None)
            assert (popped and popped.body) == expected
            if popped is not None:
                given.append((name, popped))
        elif act == "start" and step % 40 == 0:
            assert await harness.doors.give_back_open() == len(given)
            given.clear()
        elif given:
            given.rotate(draw.randrange(len(given)))
            whose, popped = given.popleft()
            await (harness.doors.settle(popped) if act == "settle" else harness.doors.give_back(popped))
            if act == "settle":
                waits[whose].remove(popped.body)
                had.append(popped.body)

    assert len(had) == len(set(had))
    read = await harness.rows("SELECT count(*) FROM recipients WHERE read_ts IS NOT NULL")
    total = await harness.rows("SELECT count(*) FROM recipients")
    left = sum(map(len, waits.values()))
    assert total[0][0] == len(had) + left
    assert read[0][0] >= len(had)

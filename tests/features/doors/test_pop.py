from __future__ import annotations

import random
from collections import defaultdict, deque
from pathlib import Path

import pytest

from mcp_agent_mail.core.concurrency.hearing import heard_by
from mcp_agent_mail.features.doors.results import Pending, Popped
from tests.features.doors.harness import DoorsHarness, ToldHearing, at, open_doors, settled, unread


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


@pytest.mark.parametrize("how", ["lost", "cut"])
async def test_it_is_the_next_ones_where_its_answer_was_not_written(harness: DoorsHarness, how: str) -> None:
    await harness.send("alice", "bob", "1")
    await harness.send("alice", "bob", "2")
    hearing = ToldHearing()
    with heard_by(hearing):
        await harness.doors.pop(at("bob"), wait_s=0)

    hearing.tell(how)
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


async def test_what_was_read_natively_is_not_given(harness: DoorsHarness) -> None:
    sent = await harness.send("alice", "bob", "1")
    await harness.call("mark_message_read", agent_name="bob", message_id=sent.message_id)

    assert await harness.pop("bob") is None


@pytest.mark.parametrize("seed", range(6))
async def test_in_any_history_each_message_is_had_once_and_in_order(harness: DoorsHarness, seed: int) -> None:
    """Beside a model: per mailbox the messages in order of delivery, and what is given of them."""
    draw = random.Random(seed)
    names = ["ann", "Bob", "名前"]
    waits: dict[str, list[str]] = defaultdict(list)
    given: deque[tuple[str, Popped]] = deque()
    had: list[str] = []
    for step in range(150):
        harness.seeded.clock.step(draw.random())
        name = draw.choice(names)
        act = draw.choice(["send", "send", "pop", "pop", "pop", "settle", "back", "start"] if step % 40 else ["start"])
        if act == "send":
            sent = await harness.send(draw.choice(names), name, f"{step}", draw.choice([None, f"{step}"]))
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

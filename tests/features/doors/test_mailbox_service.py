from __future__ import annotations

import asyncio
import random

import pytest

from mcp_agent_mail.core.concurrency.hearing import heard_by
from mcp_agent_mail.domain.doors.names import NameOwnedElsewhere, UnfitWireName
from mcp_agent_mail.features.delivery.waiters import WaiterLeft
from mcp_agent_mail.features.doors.results import NameChange, Popped
from tests.features.doors.harness import DoorsHarness, ToldHearing, settled, unread, waiting
from tests.features.doors.mailbox_calls import box, check, names, pending, send, watch

MINUTE_S = 60
DAY_S = 24 * 60 * MINUTE_S


async def test_a_check_takes_all_that_waits_in_order_and_leaves_nothing(harness: DoorsHarness) -> None:
    for number in range(5):
        await send(harness, "alice", "Bob", f"{number}")

    checked = await harness.mailboxes.check(box("bob"))
    for popped in checked.messages:
        await harness.doors.settle(popped)
    again = await check(harness, "bob")

    assert checked.name == "Bob"
    assert [one.body for one in checked.messages] == ["0", "1", "2", "3", "4"]
    assert [one.id for one in checked.messages] == [str(one.message_id) for one in checked.messages]
    assert {one.sender for one in checked.messages} == {"alice"}
    assert again == []
    assert await unread(harness, "Bob") == 0


async def test_checks_at_once_share_what_waits_and_double_nothing(harness: DoorsHarness) -> None:
    bodies = [f"{number}" for number in range(40)]
    for body in bodies:
        await send(harness, "alice", "bob", body)

    got = await asyncio.gather(*(check(harness, "bob") for _ in range(8)))

    assert sorted(body for bodies_of_one in got for body in bodies_of_one) == sorted(bodies)


@pytest.mark.parametrize("how", ["lost", "cut"])
async def test_a_check_is_read_once_its_answer_was_written_and_given_back_else(harness: DoorsHarness, how: str) -> None:
    await send(harness, "alice", "bob", "1")
    await send(harness, "alice", "bob", "2")
    lost, heard = ToldHearing(), ToldHearing()

    with heard_by(lost):
        await harness.mailboxes.check(box("bob"))
    meanwhile = await check(harness, "bob")
    lost.tell(how)
    await settled(harness)
    with heard_by(heard):
        await harness.mailboxes.check(box("bob"))
    before = await unread(harness, "bob")
    heard.written[0]()
    await settled(harness)

    assert (meanwhile, before) == ([], 2)
    assert await unread(harness, "bob") == 0
    assert await harness.rows("SELECT count(*) FROM pops") == [(0,)]


async def test_a_check_gives_as_much_as_one_answer_may_hold(
    harness: DoorsHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_agent_mail.features.doors.pop.MAX_TAKEN_CHARACTERS", 5)
    for body in ("123456", "789", "012", "34"):
        await send(harness, "alice", "bob", body)

    got = [await check(harness, "bob") for _ in range(4)]

    assert got == [["123456"], ["789"], ["012", "34"], []]


async def test_a_call_makes_a_mailbox_and_a_look_at_another_makes_none(harness: DoorsHarness) -> None:
    await harness.mailboxes.touch(box("alice"))
    empty = await pending(harness, "nobody")

    assert empty == 0
    assert await harness.rows("SELECT name, owner FROM wire_names") == [("alice", "claude-mailbox")]
    with pytest.raises(UnfitWireName):
        await harness.mailboxes.touch(box("a\nb"))


async def test_a_mailbox_of_another_door_is_not_spoken_as(harness: DoorsHarness) -> None:
    await harness.send("bob", "alice", "of postal")
    await send(harness, "carol", "bob", "hi")

    for refused in (
        harness.mailboxes.check(box("bob")),
        harness.mailboxes.watch(box("bob"), wait_s=0),
        harness.mailboxes.touch(box("bob")),
        harness.mailboxes.retire(box("bob")),
    ):
        with pytest.raises(NameOwnedElsewhere):
            await refused
    assert await pending(harness, "bob") == 1


async def test_who_watches_gets_what_comes_and_no_check_after_it(harness: DoorsHarness) -> None:
    watches = watch(harness, "bob")
    await harness.mailboxes.touch(box("bob"))
    await waiting(harness, "bob")

    await send(harness, "alice", "bob", "hi")
    got = await asyncio.wait_for(watches, 5)

    assert isinstance(got, Popped)
    assert got.body == "hi"
    assert await check(harness, "bob") == []


async def test_a_watch_gives_what_waits_at_once_one_at_a_time(harness: DoorsHarness) -> None:
    await send(harness, "alice", "bob", "1")
    await send(harness, "alice", "bob", "2")

    got = [await watch(harness, "bob"), await watch(harness, "bob", 0), await watch(harness, "bob", 0.01)]

    assert [isinstance(one, Popped) and one.body for one in got] == ["1", "2", False]
    assert harness.waiters.figures().waits == 0


async def test_who_has_watched_longest_gets_each_of_what_comes(harness: DoorsHarness) -> None:
    watches = []
    await harness.mailboxes.touch(box("bob"))
    for count in range(1, 6):
        watches.append(watch(harness, "bob"))
        await waiting(harness, "bob", count)

    for number in range(5):
        await send(harness, "alice", "bob", f"{number}")

    got = await asyncio.wait_for(asyncio.gather(*watches), 10)
    assert [isinstance(one, Popped) and one.body for one in got] == ["0", "1", "2", "3", "4"]


async def test_a_newcomer_takes_nothing_from_who_watched_before(harness: DoorsHarness) -> None:
    """It comes between a message and the look of the one before it."""
    harness.waiters._tell = lambda agents: None  # type: ignore[method-assign]  # noqa: ARG005  # it has not been told
    await harness.mailboxes.touch(box("bob"))
    first = watch(harness, "bob")
    await waiting(harness, "bob")
    await settled(harness)

    await send(harness, "alice", "bob", "1")
    late = await watch(harness, "bob", 0.01)

    assert late is None
    first.cancel()
    assert await check(harness, "bob") == ["1"]


async def test_when_the_first_leaves_the_next_gets_it(harness: DoorsHarness) -> None:
    await harness.mailboxes.touch(box("bob"))
    hearing = ToldHearing()
    with heard_by(hearing):
        first = watch(harness, "bob")
    await waiting(harness, "bob")
    second = watch(harness, "bob")
    await waiting(harness, "bob", 2)

    hearing.leave[0]()
    await send(harness, "alice", "bob", "1")

    got = await asyncio.wait_for(second, 5)
    assert isinstance(got, Popped)
    assert got.body == "1"
    with pytest.raises(WaiterLeft):
        await first


async def test_what_a_watch_did_not_get_through_is_the_next_ones(harness: DoorsHarness) -> None:
    await send(harness, "alice", "bob", "1")
    hearing = ToldHearing()
    with heard_by(hearing):
        await watch(harness, "bob")
    second = watch(harness, "bob")
    await waiting(harness, "bob")

    hearing.lost[0]()

    got = await asyncio.wait_for(second, 5)
    assert isinstance(got, Popped)
    assert got.body == "1"


async def test_another_name_wakes_who_watches(harness: DoorsHarness) -> None:
    await harness.mailboxes.touch(box("bob"))
    watches = []
    for count in (1, 2):
        watches.append(watch(harness, "bob"))
        await waiting(harness, "bob", count)

    await harness.mailboxes.rename(box("bob"), "robert")

    got = await asyncio.wait_for(asyncio.gather(*watches), 5)
    assert got == [NameChange(former="bob", name="robert")] * 2
    assert sorted(await names(harness)) == ["robert"]


@pytest.mark.parametrize("seed", range(4))
async def test_in_any_history_of_checks_watches_and_names_each_message_is_had_once(
    harness: DoorsHarness, seed: int
) -> None:
    draw = random.Random(seed)
    called = {"a": "a", "b": "b", "c": "c"}
    sent: list[str] = []
    had: list[str] = []
    for name in called:
        await harness.mailboxes.touch(box(name))
    for step in range(120):
        harness.seeded.clock.step(1)
        who = draw.choice(list(called))
        act = draw.choice(["send", "send", "send", "check", "watch", "lost", "rename"])
        if act == "send":
            await send(harness, called[draw.choice(list(called))], called[who], f"{step}")
            sent.append(f"{step}")
        elif act == "check":
            had += await check(harness, called[who])
        elif act == "watch":
            got = await harness.mailboxes.watch(box(called[who]), wait_s=0)
            if isinstance(got, Popped):
                await harness.doors.settle(got)
                had.append(got.body)
        elif act == "lost":
            hearing = ToldHearing()
            with heard_by(hearing):
                await harness.mailboxes.check(box(called[who]))
            for lost in hearing.lost:
                lost()
        else:
            await harness.mailboxes.rename(box(called[who]), f"{who}-{step}")
            called[who] = f"{who}-{step}"
    await settled(harness)
    for name in called.values():
        had += await check(harness, name)

    assert sorted(had) == sorted(sent)

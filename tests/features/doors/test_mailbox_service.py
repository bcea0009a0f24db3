from __future__ import annotations

import asyncio
import random

import pytest

from mcp_agent_mail.core.concurrency.hearing import heard_by
from mcp_agent_mail.domain.doors.mailboxes import MailPending, NameIsAgents, SourceMissing, TargetExists
from mcp_agent_mail.domain.doors.names import Door, NameOwnedElsewhere, UnfitWireName, UnknownWireName
from mcp_agent_mail.features.delivery.waiters import WaiterLeft
from mcp_agent_mail.features.doors.results import Popped, Renamed
from tests.features.doors.harness import OPERATOR, DoorsHarness, ToldHearing, settled, unread, waiting
from tests.features.doors.harness import at as at_door

MINUTE_S = 60
DAY_S = 24 * 60 * MINUTE_S


async def send(harness: DoorsHarness, sender: str, to: str, body: str) -> None:
    await harness.doors.send(at_door(sender, Door.CLAUDE_MAILBOX), to, body)


async def check(harness: DoorsHarness, name: str) -> list[str]:
    """All of it, and its answer was written."""
    checked = await harness.mailboxes.check(at_door(name, Door.CLAUDE_MAILBOX))
    await harness.mailboxes.settle(checked.messages)
    return [one.body for one in checked.messages]


async def pending(harness: DoorsHarness, name: str) -> int:
    return (await harness.doors.pending(at_door(name, Door.CLAUDE_MAILBOX))).count


def watch(harness: DoorsHarness, name: str, wait_s: float = 60) -> asyncio.Future[Popped | Renamed | None]:
    return asyncio.ensure_future(harness.mailboxes.watch(at_door(name, Door.CLAUDE_MAILBOX), wait_s=wait_s))


async def names(harness: DoorsHarness, name: str | None = None) -> list[str]:
    caller = None if name is None else at_door(name, Door.CLAUDE_MAILBOX)
    return [one.name for one in (await harness.mailboxes.list_(Door.CLAUDE_MAILBOX, caller)).mailboxes]


async def test_a_check_takes_all_that_waits_in_order_and_leaves_nothing(harness: DoorsHarness) -> None:
    for number in range(5):
        await send(harness, "alice", "Bob", f"{number}")

    checked = await harness.mailboxes.check(at_door("bob", Door.CLAUDE_MAILBOX))
    await harness.mailboxes.settle(checked.messages)
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

    assert sorted(sum(got, [])) == sorted(bodies)


async def test_a_check_is_read_once_its_answer_was_written_and_given_back_else(harness: DoorsHarness) -> None:
    await send(harness, "alice", "bob", "1")
    await send(harness, "alice", "bob", "2")
    lost, heard = ToldHearing(), ToldHearing()

    with heard_by(lost):
        await harness.mailboxes.check(at_door("bob", Door.CLAUDE_MAILBOX))
    meanwhile = await check(harness, "bob")
    lost.lost[0]()
    await settled(harness)
    with heard_by(heard):
        await harness.mailboxes.check(at_door("bob", Door.CLAUDE_MAILBOX))
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
    await harness.mailboxes.touch(at_door("alice", Door.CLAUDE_MAILBOX))
    empty = await pending(harness, "nobody")

    assert empty == 0
    assert await harness.rows("SELECT name, owner FROM wire_names") == [("alice", "claude-mailbox")]
    with pytest.raises(UnfitWireName):
        await harness.mailboxes.touch(at_door("a\nb", Door.CLAUDE_MAILBOX))


async def test_a_mailbox_of_another_door_is_not_spoken_as(harness: DoorsHarness) -> None:
    await harness.send("bob", "alice", "of postal")
    await send(harness, "carol", "bob", "hi")

    for refused in (
        harness.mailboxes.check(at_door("bob", Door.CLAUDE_MAILBOX)),
        harness.mailboxes.watch(at_door("bob", Door.CLAUDE_MAILBOX), wait_s=0),
        harness.mailboxes.touch(at_door("bob", Door.CLAUDE_MAILBOX)),
        harness.mailboxes.retire(at_door("bob", Door.CLAUDE_MAILBOX)),
    ):
        with pytest.raises(NameOwnedElsewhere):
            await refused
    assert await pending(harness, "bob") == 1


async def test_who_watches_gets_what_comes_and_no_check_after_it(harness: DoorsHarness) -> None:
    watches = watch(harness, "bob")
    await harness.mailboxes.touch(at_door("bob", Door.CLAUDE_MAILBOX))
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
    await harness.mailboxes.touch(at_door("bob", Door.CLAUDE_MAILBOX))
    for count in range(1, 6):
        watches.append(watch(harness, "bob"))
        await waiting(harness, "bob", count)

    for number in range(5):
        await send(harness, "alice", "bob", f"{number}")

    got = await asyncio.wait_for(asyncio.gather(*watches), 10)
    assert [isinstance(one, Popped) and one.body for one in got] == ["0", "1", "2", "3", "4"]


async def test_a_newcomer_takes_nothing_from_who_watched_before(harness: DoorsHarness) -> None:
    """It comes between a message and the look of the one before it."""
    harness.waiters._tell = lambda _: None  # type: ignore[method-assign]  # it has not been told yet
    await harness.mailboxes.touch(at_door("bob", Door.CLAUDE_MAILBOX))
    first = watch(harness, "bob")
    await waiting(harness, "bob")
    await settled(harness)

    await send(harness, "alice", "bob", "1")
    late = await watch(harness, "bob", 0.01)

    assert late is None
    first.cancel()
    assert await check(harness, "bob") == ["1"]


async def test_when_the_first_leaves_the_next_gets_it(harness: DoorsHarness) -> None:
    await harness.mailboxes.touch(at_door("bob", Door.CLAUDE_MAILBOX))
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


async def test_another_name_takes_mail_and_history_along_and_frees_the_former_one(harness: DoorsHarness) -> None:
    await send(harness, "bob", "alice", "from bob")
    await send(harness, "alice", "bob", "1")
    await send(harness, "alice", "bob", "2")

    renamed = await harness.mailboxes.rename(at_door("BOB", Door.CLAUDE_MAILBOX), "Robert")
    await send(harness, "alice", "robert", "3")
    of_former = await pending(harness, "bob")
    await send(harness, "alice", "bob", "for another bob")

    assert renamed == Renamed(former="bob", name="Robert", transferred=2)
    assert of_former == 0
    assert await check(harness, "robert") == ["1", "2", "3"]
    assert await check(harness, "bob") == ["for another bob"]
    got = await harness.mailboxes.check(at_door("alice", Door.CLAUDE_MAILBOX))
    assert [one.sender for one in got.messages] == ["Robert"]
    assert sorted(await names(harness)) == ["Robert", "alice", "bob"]


async def test_a_name_can_be_taken_back(harness: DoorsHarness) -> None:
    await send(harness, "alice", "bob", "1")
    await harness.mailboxes.touch(at_door("bob", Door.CLAUDE_MAILBOX))
    await harness.mailboxes.rename(at_door("bob", Door.CLAUDE_MAILBOX), "x")
    await harness.mailboxes.rename(at_door("x", Door.CLAUDE_MAILBOX), "bob")

    assert await check(harness, "bob") == ["1"]
    assert await pending(harness, "x") == 0
    assert await harness.rows("SELECT count(*) FROM agents WHERE program = 'claude-mailbox'") == [(2,)]


async def test_the_same_name_moves_nothing(harness: DoorsHarness) -> None:
    await send(harness, "bob", "bob", "1")

    same = await harness.mailboxes.rename(at_door("bob", Door.CLAUDE_MAILBOX), " BOB ")

    assert same == Renamed(former="bob", name="bob", transferred=0)


async def test_a_name_that_is_somebodys_is_not_to_be_had(harness: DoorsHarness) -> None:
    await send(harness, "alice", "bob", "1")
    await harness.send("postal-1", "bob", "2")

    for taken in ("bob", "ALICE", "postal-1", "Human", "System"):
        if taken != "ALICE":
            with pytest.raises(TargetExists):
                await harness.mailboxes.rename(at_door("alice", Door.CLAUDE_MAILBOX), taken)
    with pytest.raises(UnfitWireName):
        await harness.mailboxes.rename(at_door("alice", Door.CLAUDE_MAILBOX), "  ")
    with pytest.raises(SourceMissing):
        await harness.mailboxes.rename(at_door("nobody", Door.CLAUDE_MAILBOX), "x")
    for others in ("postal-1", "bob"):
        with pytest.raises(NameIsAgents):
            await harness.mailboxes.rename(at_door(others, Door.CLAUDE_MAILBOX), "x")
    assert sorted(await names(harness)) == ["alice", "bob", "postal-1"]


async def test_a_native_agent_keeps_its_name(harness: DoorsHarness) -> None:
    await harness.send("alice", "x", "makes the project")
    await harness.doors.link(OPERATOR, "alice", Door.CLAUDE_MAILBOX)

    with pytest.raises(NameIsAgents):
        await harness.mailboxes.rename(at_door("alice", Door.CLAUDE_MAILBOX), "y")


async def test_another_name_wakes_who_watches(harness: DoorsHarness) -> None:
    await harness.mailboxes.touch(at_door("bob", Door.CLAUDE_MAILBOX))
    watches = []
    for count in (1, 2):
        watches.append(watch(harness, "bob"))
        await waiting(harness, "bob", count)

    await harness.mailboxes.rename(at_door("bob", Door.CLAUDE_MAILBOX), "robert")

    got = await asyncio.wait_for(asyncio.gather(*watches), 5)
    assert got == [Renamed(former="bob", name="robert")] * 2
    assert sorted(await names(harness)) == ["robert"]


async def test_the_list_says_who_has_mail_and_from_whom_yours_is(harness: DoorsHarness) -> None:
    await send(harness, "alice", "bob", "1")
    harness.seeded.clock.step(1)
    await send(harness, "alice", "bob", "2")
    harness.seeded.clock.step(1)
    await send(harness, "carol", "bob", "3")

    listed = await harness.mailboxes.list_(Door.CLAUDE_MAILBOX, at_door("bob", Door.CLAUDE_MAILBOX))
    of_nobody = await harness.mailboxes.list_(Door.CLAUDE_MAILBOX, None)

    shown = {one.name: (one.pending, one.pending_for_caller) for one in listed.mailboxes}
    assert shown == {"alice": (0, 2), "bob": (3, 0), "carol": (0, 1)}
    assert listed.total == 3
    assert [one.pending_for_caller for one in of_nobody.mailboxes] == [0, 0, 0]
    assert await pending(harness, "bob") == 3


async def test_before_the_first_call_nobody_is_listed_and_asking_makes_nothing(harness: DoorsHarness) -> None:
    listed = await harness.mailboxes.list_(Door.CLAUDE_MAILBOX, None)

    assert (listed.mailboxes, listed.total) == ([], 0)
    assert await harness.rows("SELECT count(*) FROM wire_names") == [(0,)]


async def seen_now(harness: DoorsHarness, *seen: str) -> None:
    """As activity is written a few seconds later."""
    for name in seen:
        await harness.seeded.store.write(
            lambda tx, name=name: (
                tx.agents._connection.execute(  # type: ignore[misc]
                    "UPDATE agents SET last_active_ts = ? WHERE name = ?", (tx.now, name)
                ).rowcount
            )
        )


async def test_idle_ones_are_hidden_but_for_who_asks_and_whose_mail_waits_for_them(harness: DoorsHarness) -> None:
    for name in ("idle", "writer", "bob", "alice"):
        await harness.mailboxes.touch(at_door(name, Door.CLAUDE_MAILBOX))
    await send(harness, "writer", "bob", "1")
    harness.seeded.clock.step(DAY_S + 1)
    await seen_now(harness, "alice")

    assert await names(harness) == ["alice"]
    assert sorted(await names(harness, "bob")) == ["alice", "bob", "writer"]


async def test_long_idle_ones_retire_unless_mail_waits_or_somebody_watches(harness: DoorsHarness) -> None:
    for name in ("idle", "bob", "watched", "seen"):
        await harness.mailboxes.touch(at_door(name, Door.CLAUDE_MAILBOX))
    await harness.send("postal", "x", "of another door")
    await send(harness, "idle", "bob", "1")
    watches = watch(harness, "watched")
    await waiting(harness, "watched")
    harness.seeded.clock.step(7 * DAY_S + 1)
    await seen_now(harness, "seen")

    retired = await harness.mailboxes.retire_idle(Door.CLAUDE_MAILBOX)
    again = await harness.mailboxes.retire_idle(Door.CLAUDE_MAILBOX)

    watches.cancel()
    assert (retired, again) == (1, 0)
    assert await harness.rows("SELECT name FROM agents WHERE retired_ts IS NOT NULL") == [("idle",)]
    assert await harness.rows("SELECT count(*) FROM messages") == [(2,)]
    assert "idle" not in await names(harness, "bob")


async def test_more_than_one_lot_retires(harness: DoorsHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mcp_agent_mail.features.doors.mailboxes.IDLE_AT_ONCE", 2)
    for number in range(5):
        await harness.mailboxes.touch(at_door(f"m{number}", Door.CLAUDE_MAILBOX))
    harness.seeded.clock.step(8 * DAY_S)

    assert await harness.mailboxes.retire_idle(Door.CLAUDE_MAILBOX) == 5


@pytest.mark.parametrize("how", ["its own call", "mail to it"])
async def test_one_that_retired_is_back_with_the_next_call(harness: DoorsHarness, how: str) -> None:
    await harness.mailboxes.touch(at_door("bob", Door.CLAUDE_MAILBOX))
    await harness.mailboxes.touch(at_door("alice", Door.CLAUDE_MAILBOX))
    assert await harness.mailboxes.retire(at_door("bob", Door.CLAUDE_MAILBOX))
    assert not await harness.mailboxes.retire(at_door("bob", Door.CLAUDE_MAILBOX))
    assert await names(harness) == ["alice"]

    if how == "its own call":
        await harness.mailboxes.touch(at_door("bob", Door.CLAUDE_MAILBOX))
    else:
        await send(harness, "alice", "bob", "back?")

    assert sorted(await names(harness)) == ["alice", "bob"]


async def test_a_session_ends_only_when_nothing_waits_either_way(harness: DoorsHarness) -> None:
    await send(harness, "alice", "bob", "1")

    with pytest.raises(MailPending, match="elsewhere"):
        await harness.mailboxes.retire(at_door("alice", Door.CLAUDE_MAILBOX))
    with pytest.raises(MailPending, match="1 messages wait"):
        await harness.mailboxes.retire(at_door("bob", Door.CLAUDE_MAILBOX))
    with pytest.raises(UnknownWireName):
        await harness.mailboxes.retire(at_door("nobody", Door.CLAUDE_MAILBOX))
    await check(harness, "bob")

    assert await harness.mailboxes.retire(at_door("alice", Door.CLAUDE_MAILBOX))
    assert await harness.mailboxes.retire(at_door("bob", Door.CLAUDE_MAILBOX))
    assert await names(harness) == []


@pytest.mark.parametrize("seed", range(4))
async def test_in_any_history_of_checks_watches_and_names_each_message_is_had_once(
    harness: DoorsHarness, seed: int
) -> None:
    draw = random.Random(seed)
    called = {"a": "a", "b": "b", "c": "c"}
    sent: list[str] = []
    had: list[str] = []
    for name in called:
        await harness.mailboxes.touch(at_door(name, Door.CLAUDE_MAILBOX))
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
            got = await harness.mailboxes.watch(at_door(called[who], Door.CLAUDE_MAILBOX), wait_s=0)
            if isinstance(got, Popped):
                await harness.doors.settle(got)
                had.append(got.body)
        elif act == "lost":
            hearing = ToldHearing()
            with heard_by(hearing):
                await harness.mailboxes.check(at_door(called[who], Door.CLAUDE_MAILBOX))
            for lost in hearing.lost:
                lost()
        else:
            await harness.mailboxes.rename(at_door(called[who], Door.CLAUDE_MAILBOX), f"{who}-{step}")
            called[who] = f"{who}-{step}"
    await settled(harness)
    for name in called.values():
        had += await check(harness, name)

    assert sorted(had) == sorted(sent)

"""Mail in answers that were written: read, reset unread, or never spoken of again."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from pathlib import Path

import pytest

from mcp_agent_mail.core.concurrency.hearing import heard_by
from mcp_agent_mail.domain.doors.names import Door
from mcp_agent_mail.domain.store_limits import Shortage, StoreLimits, StoreSize
from tests.features.doors.harness import DoorsHarness, ToldHearing, at, open_doors, settled, unread, waiting

SOON_S = 0.02
LONG_S = 60.0


@pytest.fixture
async def slow(tmp_path: Path) -> AsyncIterator[DoorsHarness]:
    """Who says nothing is not believed within a test."""
    async with open_doors(tmp_path, believed_after_s=LONG_S) as opened:
        yield opened


async def answered(harness: DoorsHarness, name: str) -> ToldHearing:
    hearing = ToldHearing()
    with heard_by(hearing):
        popped = await harness.doors.pop(at(name), wait_s=0)
    assert popped is not None
    hearing.tell("written")
    return hearing


async def until_read(harness: DoorsHarness, name: str) -> None:
    async with asyncio.timeout(30):
        while await unread(harness, name):
            await settled(harness)


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not is_so():  # noqa: ASYNC110  # nobody tells of it
            await asyncio.sleep(0.01)


async def test_what_was_written_is_the_callers_until_it_is_known_to_be_read(slow: DoorsHarness) -> None:
    await slow.send("alice", "bob", "1")
    hearing = await answered(slow, "bob")
    await settled(slow)
    before = (await unread(slow, "bob"), await slow.doors.pop(at("bob"), wait_s=0))

    hearing.tell("read")
    await settled(slow)

    assert before == (1, None)
    assert await unread(slow, "bob") == 0
    assert slow.doors.waits.figures()[Door.POSTAL].counts[0] == 1


async def test_what_was_reset_unread_goes_to_who_waits_and_is_no_figure_of_waits(slow: DoorsHarness) -> None:
    await slow.send("alice", "bob", "1")
    hearing = await answered(slow, "bob")
    call = asyncio.ensure_future(slow.doors.pop(at("bob"), wait_s=LONG_S))
    await waiting(slow, "bob")
    await settled(slow)  # It has looked, and waits.

    hearing.tell("unread")
    popped = await asyncio.wait_for(call, 30)

    assert popped is not None
    assert popped.body == "1"
    assert slow.doors.waits.figures() == {}
    hearing.tell("read")
    await settled(slow)
    assert await unread(slow, "bob") == 1


async def test_a_check_that_was_reset_unread_waits_again_as_a_whole(slow: DoorsHarness) -> None:
    caller = at("bob", Door.CLAUDE_MAILBOX)
    for body in ("1", "2"):
        await slow.doors.send(at("alice", Door.CLAUDE_MAILBOX), "bob", body)
    hearing = ToldHearing()
    with heard_by(hearing):
        await slow.mailboxes.check(caller)
    hearing.tell("written")

    hearing.tell("unread")
    await settled(slow)
    again = await slow.mailboxes.check(caller)

    assert [one.body for one in again.messages] == ["1", "2"]


async def test_who_says_nothing_is_believed_after_a_while(tmp_path: Path) -> None:
    async with open_doors(tmp_path, believed_after_s=SOON_S) as harness:
        await harness.send("alice", "bob", "1")
        hearing = await answered(harness, "bob")

        await until_read(harness, "bob")

        hearing.tell("unread")
        await settled(harness)
        assert await unread(harness, "bob") == 0


async def test_at_a_stop_who_says_nothing_is_believed_at_once(slow: DoorsHarness) -> None:
    await slow.send("alice", "bob", "1")
    await slow.send("alice", "bob", "2")
    await answered(slow, "bob")

    slow.doors.close()
    await answered(slow, "bob")  # Of a call that was under way.
    await settled(slow)

    assert await unread(slow, "bob") == 0


async def test_mail_that_was_answered_makes_room_before_it_is_known_to_be_read(slow: DoorsHarness) -> None:
    await slow.send("alice", "bob", "1", mailbox_max=1)
    await answered(slow, "bob")

    await slow.send("alice", "bob", "2", mailbox_max=1)

    assert await unread(slow, "bob") == 2


@pytest.mark.parametrize(("how", "left"), [("lost", ["1", "2"]), ("unread", ["1", "2"]), ("read", ["2"])])
async def test_what_became_of_an_answer_is_kept_while_the_store_cannot_be_written(
    slow: DoorsHarness, how: str, left: list[str]
) -> None:
    store = slow.seeded.store
    store._writing.execute("PRAGMA busy_timeout=0")
    await slow.send("alice", "bob", "1")
    await slow.send("alice", "bob", "2")
    hearing = ToldHearing()
    with heard_by(hearing):
        await slow.doors.pop(at("bob"), wait_s=0)
    if how != "lost":
        hearing.tell("written")
    with closing(sqlite3.connect(store.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        hearing.tell(how)
        await until(lambda: store.problem is not None)
        owed = store.count_owed()
        other.execute("ROLLBACK")
    await until(lambda: not store.count_owed())

    got = [await slow.pop("bob") for _ in left]

    assert owed == 1
    assert [one and one.body for one in got] == left
    assert await slow.pop("bob") is None


async def test_a_full_store_takes_what_settles_and_gives_back(slow: DoorsHarness) -> None:
    await slow.send("alice", "bob", "1")
    await slow.send("alice", "bob", "2")
    first = await answered(slow, "bob")
    second = await answered(slow, "bob")
    size = StoreSize(used=0, free=1)
    slow.seeded.store.growth.note(Shortage.DISK_FULL, StoreLimits(max_used=0, min_free=2), size)

    first.tell("read")
    second.tell("unread")
    await settled(slow)

    assert slow.seeded.store.count_owed() == 0
    assert await slow.rows("SELECT count(*) FROM pops") == [(0,)]
    assert await unread(slow, "bob") == 1

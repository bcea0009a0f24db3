"""Mail whose answer ends while the store cannot be written: another program holds its lock, or there is no room."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from mcp_agent_mail.core.concurrency.hearing import heard_by
from mcp_agent_mail.domain.doors.names import Door
from mcp_agent_mail.domain.store_limits import Shortage, StoreLimits, StoreSize
from tests.features.doors.harness import DoorsHarness, ToldHearing, at, open_doors, settled, unread

WITHIN_S = 60.0


@pytest.fixture
async def harness(tmp_path: Path) -> AsyncIterator[DoorsHarness]:
    async with open_doors(tmp_path) as opened:
        await opened.seeded.store.write(lambda tx: tx.pops._connection.execute("PRAGMA busy_timeout=0"))
        yield opened


@contextmanager
def _locked(harness: DoorsHarness) -> Iterator[None]:
    """Within, no write of ours can begin."""
    with closing(sqlite3.connect(harness.seeded.store.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")


async def _until_owed(harness: DoorsHarness, *, is_owed: bool) -> None:
    async with asyncio.timeout(WITHIN_S):
        while (harness.seeded.store.problem is not None) is not is_owed:  # noqa: ASYNC110  # nobody tells of it
            await asyncio.sleep(0.01)


async def _given(harness: DoorsHarness) -> ToldHearing:
    hearing = ToldHearing()
    with heard_by(hearing):
        popped = await harness.doors.pop(at("bob"), wait_s=0)
    assert popped is not None
    return hearing


@pytest.mark.parametrize("how", ["lost", "cut"])
async def test_what_is_to_be_given_back_waits_again_once_the_store_can_be_written(
    harness: DoorsHarness, how: str
) -> None:
    await harness.send("alice", "bob", "1")
    hearing = await _given(harness)

    with _locked(harness):
        hearing.tell(how)
        await _until_owed(harness, is_owed=True)
    taken = await harness.doors.pop(at("bob"), wait_s=WITHIN_S)

    assert taken is not None
    assert taken.body == "1"


async def test_what_was_read_is_read_and_counted_once_the_store_can_be_written(harness: DoorsHarness) -> None:
    await harness.send("alice", "bob", "1")
    hearing = await _given(harness)

    with _locked(harness):
        hearing.tell("written")
        await _until_owed(harness, is_owed=True)
        assert harness.doors.waits.figures() == {}
    await _until_owed(harness, is_owed=False)

    assert await unread(harness, "bob") == 0
    assert sum(harness.doors.waits.figures()[Door.POSTAL].counts) == 1
    assert await harness.doors.give_back_open() == 0


async def test_all_that_a_check_took_waits_again_in_its_order(harness: DoorsHarness) -> None:
    await harness.send("alice", "bob", "1")
    await harness.send("alice", "bob", "2")
    hearing = ToldHearing()
    with heard_by(hearing):
        await harness.mailboxes.check(at("bob"))

    with _locked(harness):
        hearing.tell("lost")
        await _until_owed(harness, is_owed=True)
    await _until_owed(harness, is_owed=False)

    assert [popped.body for popped in (await harness.mailboxes.check(at("bob"))).messages] == ["1", "2"]


async def test_a_full_store_takes_what_settles_and_gives_back(harness: DoorsHarness) -> None:
    await harness.send("alice", "bob", "1")
    await harness.send("alice", "bob", "2")
    first, second = await _given(harness), await _given(harness)
    size = StoreSize(used=0, free=1)
    harness.seeded.store.growth.note(Shortage.DISK_FULL, StoreLimits(max_used=0, min_free=2), size)

    first.tell("written")
    second.tell("lost")
    await settled(harness)

    assert harness.seeded.store.count_owed() == 0
    assert await harness.rows("SELECT count(*) FROM pops") == [(0,)]
    assert await unread(harness, "bob") == 1

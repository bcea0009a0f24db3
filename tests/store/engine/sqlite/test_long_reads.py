from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest

from mcp_agent_mail.core.concurrency.turns import TooMuchAtOnce
from mcp_agent_mail.store.engine.port import Connection, TimeBound
from mcp_agent_mail.store.engine.sqlite.faults import DatabaseTakenAway, OpenFiles, StoreDamaged
from mcp_agent_mail.store.engine.sqlite.long_reads import LongReads, StoreClosing
from tests.store.engine.sqlite.scratch_reads import ENDLESS, asking, this_thread

pytestmark = pytest.mark.usefixtures("closed_reads")


async def test_connections_are_opened_when_needed_and_lent_again(path: Path) -> None:
    reads = LongReads(path, connections=2)
    both = threading.Barrier(2)

    def meet(_: Connection, __: TimeBound) -> threading.Thread:
        both.wait(60)
        return threading.current_thread()

    first, second = await asyncio.gather(reads.run(meet, "one"), reads.run(meet, "two"))
    assert first is not second
    assert await reads.run(this_thread) in (first, second)

    await reads.close()


async def test_a_long_read_cannot_write(path: Path) -> None:
    reads = LongReads(path)
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        await reads.run(asking("INSERT INTO scratch VALUES ('x')"))

    await reads.close()


async def test_those_who_wait_for_a_connection_are_bounded(path: Path) -> None:
    reads = LongReads(path, connections=1, max_waiting=0)
    begun, may_end = threading.Event(), threading.Event()

    def work(_: Connection, __: TimeBound) -> None:
        begun.set()
        may_end.wait(60)

    working = asyncio.create_task(reads.run(work))
    await asyncio.to_thread(begun.wait, 60)
    with pytest.raises(TooMuchAtOnce):
        await reads.run(this_thread)
    may_end.set()
    await working

    await reads.close()


async def test_a_connection_lent_out_while_closing_is_closed_when_it_comes_back(path: Path) -> None:
    reads = LongReads(path)
    begun, may_end = threading.Event(), threading.Event()

    def work(connection: Connection, _: TimeBound) -> threading.Thread:
        begun.set()
        may_end.wait(60)
        assert connection.execute("SELECT 1").fetchall() == [(1,)]
        return threading.current_thread()

    working = asyncio.create_task(reads.run(work))
    await asyncio.to_thread(begun.wait, 60)
    await reads.close()
    may_end.set()
    thread = await working

    await asyncio.to_thread(thread.join, 60)
    assert not thread.is_alive()
    with pytest.raises(StoreClosing):
        await reads.run(this_thread)


async def test_a_mistake_in_a_query_stays_what_it_is(path: Path) -> None:
    reads = LongReads(path)
    with pytest.raises(sqlite3.OperationalError, match="no such table"):
        await reads.run(asking("SELECT 1 FROM nowhere"))

    await reads.close()


async def test_who_asks_for_much_leaves_a_connection_to_others(path: Path) -> None:
    reads = LongReads(path, connections=2, time_bound_s=3_600)

    endless = [asyncio.create_task(reads.run(asking(ENDLESS), "many")) for _ in range(6)]
    await asyncio.sleep(0)
    ((answer,),) = await reads.run(asking("SELECT 1"), "one")
    are_running = [not reading.done() for reading in endless]
    for reading in endless:
        reading.cancel()
    await asyncio.gather(*endless, return_exceptions=True)

    assert (answer, are_running) == (1, [True] * 6)
    await reads.close()


def fill(path: Path) -> bytes:
    """More than a page of text; what the file has then."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode=DELETE")
        connection.execute("INSERT INTO scratch VALUES (hex(zeroblob(20000)))")
        connection.commit()
    return path.read_bytes()


def write_over(path: Path, content: bytes) -> None:
    path.write_bytes(content)


def put_aside(path: Path) -> Path:
    return path.rename(path.with_name("away"))


async def test_a_read_that_meets_damage_gives_up_its_connection(path: Path) -> None:
    whole = fill(path)
    reads = LongReads(path, connections=1)
    first = await reads.run(this_thread)
    write_over(path, whole[:4096] + b"\x99" * (len(whole) - 4096))

    with pytest.raises(StoreDamaged):
        await reads.run(asking("SELECT sum(length(text)) FROM scratch"))
    write_over(path, whole)

    assert await reads.run(asking("SELECT sum(length(text)) FROM scratch")) == [(40_000,)]
    assert await reads.run(this_thread) is not first
    await reads.close()


async def find_scratch(reads: LongReads) -> list[str]:
    return [text for (text,) in await reads.run(asking("SELECT text FROM scratch"))]


@pytest.mark.parametrize("end", ["", "-wal", "-shm"])
async def test_another_file_in_the_place_of_the_databases_is_never_read(
    path: Path, writing: sqlite3.Connection, end: str
) -> None:
    reads = LongReads(path, files=OpenFiles(path))
    own = path.with_name(f"{path.name}{end}")
    away = put_aside(own)
    shutil.copy(away, own)

    with pytest.raises(DatabaseTakenAway, match="deleted, moved or replaced"):
        await find_scratch(reads)
    away.replace(own)

    writing.execute("INSERT INTO scratch VALUES ('yak')")
    writing.commit()
    assert await find_scratch(reads) == ["zebra", "yak"]
    await reads.close()


@pytest.mark.timeout(30)
@pytest.mark.usefixtures("writing")
async def test_a_pipe_in_the_place_of_the_database_is_not_opened_which_would_wait_for_ever(path: Path) -> None:
    reads = LongReads(path, files=OpenFiles(path))
    put_aside(path)
    os.mkfifo(path)

    with pytest.raises(DatabaseTakenAway):
        await find_scratch(reads)
    await reads.close()


@pytest.mark.usefixtures("writing")
async def test_a_connection_that_was_open_before_reads_on_of_its_own_file(path: Path) -> None:
    reads = LongReads(path, files=OpenFiles(path))
    await find_scratch(reads)
    put_aside(path)
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE scratch (text TEXT)")

    assert await find_scratch(reads) == ["zebra"]
    await reads.close()


@pytest.mark.usefixtures("writing")
async def test_damage_that_is_met_while_another_file_is_there_is_told_as_that(path: Path) -> None:
    reads = LongReads(path, files=OpenFiles(path))
    malformed = sqlite3.DatabaseError("database disk image is malformed")
    malformed.sqlite_errorcode = sqlite3.SQLITE_CORRUPT

    def meet_damage(_: Connection, __: TimeBound) -> None:
        put_aside(path)
        raise malformed

    with pytest.raises(DatabaseTakenAway):
        await reads.run(meet_damage)
    await reads.close()

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from mcp_agent_mail.core.concurrency.turns import TooMuchAtOnce
from mcp_agent_mail.store.engine.port import Connection
from mcp_agent_mail.store.engine.sqlite import long_reads
from mcp_agent_mail.store.engine.sqlite.connection import open_reading
from mcp_agent_mail.store.engine.sqlite.faults import DatabaseTakenAway, OpenFiles, StoreDamaged
from mcp_agent_mail.store.engine.sqlite.long_reads import LongReads, ReadBound, ReadTooLong, StoreClosing

_NUMBERS = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n"
_ENDLESS = f"SELECT count(*) FROM ({_NUMBERS})"


def asking(sql: str) -> Callable[[Connection, ReadBound], list[Any]]:
    return lambda connection, _: connection.execute(sql).fetchall()


def this_thread(_: Connection, __: ReadBound) -> threading.Thread:
    return threading.current_thread()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "scratch.sqlite3"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("CREATE TABLE scratch (text TEXT)")
    return path


async def test_connections_are_opened_when_needed_and_lent_again(path: Path) -> None:
    reads = LongReads(path, connections=2)
    both = threading.Barrier(2)

    def meet(_: Connection, __: ReadBound) -> threading.Thread:
        both.wait()
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


async def test_a_query_that_runs_too_long_is_interrupted_and_its_connection_works_again(path: Path) -> None:
    reads = LongReads(path, connections=1, time_bound_s=0.05)
    thread = await reads.run(this_thread)
    with pytest.raises(ReadTooLong):
        await reads.run(asking(_ENDLESS))

    assert await reads.run(asking("SELECT 1")) == [(1,)]
    assert await reads.run(this_thread) is thread
    await reads.close()


async def test_a_long_query_within_the_bound_is_answered(path: Path) -> None:
    reads = LongReads(path, time_bound_s=3_600)
    assert await reads.run(asking(f"SELECT count(*) FROM ({_NUMBERS} LIMIT 200000)")) == [(200_000,)]

    await reads.close()


async def test_the_time_bound_holds_for_a_statement_that_begins_after_it(path: Path) -> None:
    reads = LongReads(path, connections=1, time_bound_s=0.0)

    def read_twice(connection: Connection, _: ReadBound) -> None:
        connection.execute("SELECT 1").fetchall()
        connection.execute(_ENDLESS)

    with pytest.raises(ReadTooLong):
        await reads.run(read_twice)
    await reads.close()


async def test_a_cancelled_read_frees_its_thread(path: Path) -> None:
    reads = LongReads(path, connections=1, time_bound_s=3_600)
    begun = threading.Event()

    def read(connection: Connection, _: ReadBound) -> None:
        begun.set()
        connection.execute(_ENDLESS).fetchall()

    reading = asyncio.create_task(reads.run(read))
    await asyncio.to_thread(begun.wait)
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading

    assert await reads.run(asking("SELECT 1")) == [(1,)]
    await reads.close()


async def test_those_who_wait_for_a_connection_are_bounded(path: Path) -> None:
    reads = LongReads(path, connections=1, max_waiting=0)
    begun, may_end = threading.Event(), threading.Event()

    def work(_: Connection, __: ReadBound) -> None:
        begun.set()
        may_end.wait()

    working = asyncio.create_task(reads.run(work))
    await asyncio.to_thread(begun.wait)
    with pytest.raises(TooMuchAtOnce):
        await reads.run(this_thread)
    may_end.set()
    await working

    await reads.close()


async def test_a_connection_lent_out_while_closing_is_closed_when_it_comes_back(path: Path) -> None:
    reads = LongReads(path)
    begun, may_end = threading.Event(), threading.Event()

    def work(connection: Connection, _: ReadBound) -> threading.Thread:
        begun.set()
        may_end.wait()
        assert connection.execute("SELECT 1").fetchall() == [(1,)]
        return threading.current_thread()

    working = asyncio.create_task(reads.run(work))
    await asyncio.to_thread(begun.wait)
    await reads.close()
    may_end.set()
    thread = await working

    await asyncio.to_thread(thread.join, 60)
    assert not thread.is_alive()
    with pytest.raises(StoreClosing):
        await reads.run(this_thread)


async def test_a_read_that_is_cancelled_while_its_connection_opens_leaves_no_thread_behind(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opens, may_open = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def slowly(path: Path, **options: bool) -> sqlite3.Connection:
        loop.call_soon_threadsafe(opens.set)
        may_open.wait(60)
        time.sleep(0.2)
        return open_reading(path, **options)

    monkeypatch.setattr(long_reads, "open_reading", slowly)
    reads = LongReads(path)
    before = set(threading.enumerate())

    reading = asyncio.create_task(reads.run(this_thread))
    await opens.wait()
    (opening,) = set(threading.enumerate()) - before
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)
    may_open.set()
    await reads.close()

    assert not opening.is_alive()


async def test_a_mistake_in_a_query_stays_what_it_is(path: Path) -> None:
    reads = LongReads(path)
    with pytest.raises(sqlite3.OperationalError, match="no such table"):
        await reads.run(asking("SELECT 1 FROM nowhere"))

    await reads.close()


async def test_who_asks_for_much_leaves_a_connection_to_others(path: Path) -> None:
    reads = LongReads(path, connections=2, time_bound_s=3_600)

    endless = [asyncio.create_task(reads.run(asking(_ENDLESS), "many")) for _ in range(6)]
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


@pytest.fixture
def writing(path: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(path)) as writing:
        writing.execute("INSERT INTO scratch VALUES ('zebra')")
        writing.commit()
        yield writing


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

    def meet_damage(_: Connection, __: ReadBound) -> None:
        put_aside(path)
        raise malformed

    with pytest.raises(DatabaseTakenAway):
        await reads.run(meet_damage)
    await reads.close()


async def test_work_on_the_thread_of_a_connection_is_given_back_with_its_place(path: Path) -> None:
    reads = LongReads(path, connections=1)

    def count(connection: Connection, _: ReadBound) -> tuple[int, threading.Thread]:
        return connection.execute("SELECT count(*) FROM scratch").fetchone()[0], threading.current_thread()

    counted, thread = await reads.run(count)
    assert counted == 0
    assert thread is not threading.main_thread()
    assert (await reads.run(count))[1] is thread

    await reads.close()


async def test_the_place_of_work_that_is_cancelled_is_free_when_its_thread_has_ended(path: Path) -> None:
    reads = LongReads(path, connections=1)
    began, may_end = threading.Event(), threading.Event()
    left = []

    def work(_: Connection, bound: ReadBound) -> None:
        began.set()
        may_end.wait()
        left.append(bound.is_to_stop())

    working = asyncio.ensure_future(reads.run(work, "one"))
    await asyncio.to_thread(began.wait)
    working.cancel()
    other = asyncio.ensure_future(reads.run(lambda connection, _: connection.execute("SELECT 1").fetchone(), "two"))
    for _ in range(20):
        await asyncio.sleep(0)
    assert not working.done()
    assert not other.done()

    may_end.set()
    assert await other == (1,)
    assert left == [True]
    assert working.cancelled()

    await reads.close()


async def test_what_is_done_between_statements_ends_with_the_time_too(path: Path) -> None:
    reads = LongReads(path, connections=1, time_bound_s=0.01)

    def work(_: Connection, bound: ReadBound) -> None:
        while True:
            bound.require()

    with pytest.raises(ReadTooLong):
        await reads.run(work)
    assert await reads.run(lambda connection, _: connection.execute("SELECT 1").fetchone()) == (1,)

    await reads.close()


async def test_where_single_steps_take_long_the_time_is_looked_at_at_each_few(path: Path) -> None:
    reads = LongReads(path, connections=1, time_bound_s=0.01)
    asked = []

    def slow(number: int) -> None:
        asked.append(number)
        time.sleep(0.001)

    def work(connection: Connection, bound: ReadBound) -> None:
        assert isinstance(connection, sqlite3.Connection)
        connection.create_function("slow", 1, slow)
        with bound.asked_often():
            connection.execute(f"SELECT slow(i) FROM ({_NUMBERS} LIMIT 400)").fetchall()

    with pytest.raises(ReadTooLong):
        await reads.run(work)
    assert len(asked) < 200

    await reads.close()


@pytest.mark.usefixtures("writing")
async def test_all_of_a_read_sees_one_instant_and_the_next_read_sees_the_next(path: Path) -> None:
    reads = LongReads(path, connections=1)
    count = "SELECT count(*) FROM scratch"

    def look_twice(connection: Connection, _: ReadBound) -> list[int]:
        before = connection.execute(count).fetchone()[0]
        with closing(sqlite3.connect(path)) as other:
            other.execute("INSERT INTO scratch VALUES ('yak')")
            other.commit()
        return [before, connection.execute(count).fetchone()[0]]

    assert await reads.run(look_twice) == [1, 1]
    assert await reads.run(asking(count)) == [(2,)]

    await reads.close()


@pytest.mark.usefixtures("writing")
async def test_a_read_that_ends_amid_its_rows_leaves_nothing_under_way(path: Path) -> None:
    reads = LongReads(path, connections=1)

    def lack_memory(_: str) -> str:
        raise MemoryError

    def end_amid_rows(connection: Connection, _: ReadBound) -> list[str]:
        rows = connection.execute(f"SELECT text FROM ({_NUMBERS} LIMIT 1000) CROSS JOIN scratch")
        return [lack_memory(text) for (text,) in rows]

    with pytest.raises(MemoryError) as kept:
        await reads.run(end_amid_rows)
    with closing(sqlite3.connect(path)) as other:
        other.execute("INSERT INTO scratch VALUES ('yak')")
        other.commit()

    assert await find_scratch(reads) == ["zebra", "yak"]
    assert kept.value.__traceback__ is not None
    await reads.close()


@pytest.mark.parametrize("raised", [StopIteration, SystemExit, KeyboardInterrupt, asyncio.CancelledError])
async def test_what_no_future_can_carry_arrives_and_its_place_is_free(path: Path, raised: type[BaseException]) -> None:
    reads = LongReads(path, connections=1)

    def end(_: Connection, __: ReadBound) -> None:
        raise raised

    with pytest.raises(RuntimeError, match=f"a long read raised {raised.__name__}"):
        await reads.run(end)
    assert await reads.run(asking("SELECT 1")) == [(1,)]

    await reads.close()


async def test_the_place_of_work_that_is_cancelled_twice_is_free_when_its_thread_has_ended_too(path: Path) -> None:
    reads = LongReads(path, connections=1)
    began, may_end = threading.Event(), threading.Event()

    def work(_: Connection, __: ReadBound) -> None:
        began.set()
        may_end.wait()

    working = asyncio.ensure_future(reads.run(work, "one"))
    await asyncio.to_thread(began.wait)
    other = asyncio.ensure_future(reads.run(asking("SELECT 1"), "two"))
    for _ in range(3):
        working.cancel()
        for _ in range(5):
            await asyncio.sleep(0)
    assert (working.done(), other.done()) == (False, False)

    may_end.set()
    assert await other == [(1,)]
    assert working.cancelled()

    await reads.close()


async def test_who_waits_for_a_place_while_the_reads_are_closed_gets_none(path: Path) -> None:
    reads = LongReads(path, connections=1)
    began, may_end = threading.Event(), threading.Event()

    def work(_: Connection, __: ReadBound) -> None:
        began.set()
        may_end.wait()

    working = asyncio.ensure_future(reads.run(work, "one"))
    await asyncio.to_thread(began.wait)
    waiting = asyncio.ensure_future(reads.run(asking("SELECT 1"), "two"))
    await asyncio.sleep(0)
    await reads.close()
    may_end.set()

    await working
    with pytest.raises(StoreClosing):
        await waiting

from __future__ import annotations

import asyncio
import contextvars
import logging
import sqlite3
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest

from mcp_agent_mail.store.engine.port import Connection, TimeBound
from mcp_agent_mail.store.engine.sqlite import long_reads
from mcp_agent_mail.store.engine.sqlite.connection import open_reading
from mcp_agent_mail.store.engine.sqlite.long_reads import LongReads, ReadTooLong, StoreClosing
from tests.store.engine.sqlite.scratch_reads import ENDLESS, NUMBERS, asking, this_thread

pytestmark = pytest.mark.usefixtures("closed_reads")

_REQUEST: contextvars.ContextVar[str] = contextvars.ContextVar("request", default="none")


async def find_scratch(reads: LongReads) -> list[str]:
    return [text for (text,) in await reads.run(asking("SELECT text FROM scratch"))]


async def test_a_query_that_runs_too_long_is_interrupted_and_its_connection_works_again(path: Path) -> None:
    reads = LongReads(path, connections=1, time_bound_s=0.05)
    thread = await reads.run(this_thread)
    with pytest.raises(ReadTooLong):
        await reads.run(asking(ENDLESS))

    assert await reads.run(asking("SELECT 1")) == [(1,)]
    assert await reads.run(this_thread) is thread
    await reads.close()


async def test_a_long_query_within_the_bound_is_answered(path: Path) -> None:
    reads = LongReads(path, time_bound_s=3_600)
    assert await reads.run(asking(f"SELECT count(*) FROM ({NUMBERS} LIMIT 200000)")) == [(200_000,)]

    await reads.close()


async def test_the_time_bound_holds_for_a_statement_that_begins_after_it(path: Path) -> None:
    reads = LongReads(path, connections=1, time_bound_s=0.0)

    def read_twice(connection: Connection, _: TimeBound) -> None:
        connection.execute("SELECT 1").fetchall()
        connection.execute(ENDLESS)

    with pytest.raises(ReadTooLong):
        await reads.run(read_twice)
    await reads.close()


async def test_a_cancelled_read_frees_its_thread(path: Path) -> None:
    reads = LongReads(path, connections=1, time_bound_s=3_600)
    begun = threading.Event()

    def read(connection: Connection, _: TimeBound) -> None:
        begun.set()
        connection.execute(ENDLESS).fetchall()

    reading = asyncio.create_task(reads.run(read))
    await asyncio.to_thread(begun.wait, 60)
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading

    assert await reads.run(asking("SELECT 1")) == [(1,)]
    await reads.close()


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


async def test_work_on_the_thread_of_a_connection_is_given_back_with_its_place(path: Path) -> None:
    reads = LongReads(path, connections=1)

    def count(connection: Connection, _: TimeBound) -> tuple[int, threading.Thread]:
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

    def work(_: Connection, bound: TimeBound) -> None:
        began.set()
        may_end.wait(60)
        with pytest.raises(sqlite3.OperationalError, match="interrupted"):
            bound.require()
        left.append(True)

    working = asyncio.ensure_future(reads.run(work, "one"))
    await asyncio.to_thread(began.wait, 60)
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

    def work(_: Connection, bound: TimeBound) -> None:
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

    def work(connection: Connection, bound: TimeBound) -> None:
        assert isinstance(connection, sqlite3.Connection)
        connection.create_function("slow", 1, slow)
        with bound.asked_often():
            connection.execute(f"SELECT slow(i) FROM ({NUMBERS} LIMIT 400)").fetchall()

    with pytest.raises(ReadTooLong):
        await reads.run(work)
    assert len(asked) < 200

    await reads.close()


@pytest.mark.usefixtures("writing")
async def test_all_of_a_read_sees_one_instant_and_the_next_read_sees_the_next(path: Path) -> None:
    reads = LongReads(path, connections=1)
    count = "SELECT count(*) FROM scratch"

    def look_twice(connection: Connection, _: TimeBound) -> list[int]:
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

    def end_amid_rows(connection: Connection, _: TimeBound) -> list[str]:
        rows = connection.execute(f"SELECT text FROM ({NUMBERS} LIMIT 1000) CROSS JOIN scratch")
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

    def end(_: Connection, __: TimeBound) -> None:
        raise raised

    with pytest.raises(RuntimeError, match=f"a long read raised {raised.__name__}"):
        await reads.run(end)
    assert await reads.run(asking("SELECT 1")) == [(1,)]

    await reads.close()


async def test_the_place_of_work_that_is_cancelled_twice_is_free_when_its_thread_has_ended_too(path: Path) -> None:
    reads = LongReads(path, connections=1)
    began, may_end = threading.Event(), threading.Event()

    def work(_: Connection, __: TimeBound) -> None:
        began.set()
        may_end.wait(60)

    working = asyncio.ensure_future(reads.run(work, "one"))
    await asyncio.to_thread(began.wait, 60)
    other = asyncio.ensure_future(reads.run(asking("SELECT 1"), "two"))
    for _ in range(3):
        working.cancel()
        for _ in range(5):
            await asyncio.sleep(0)
    are_done = (working.done(), other.done())
    may_end.set()

    assert are_done == (False, False)
    assert await other == [(1,)]
    assert working.cancelled()

    await reads.close()


async def test_who_waits_for_a_place_while_the_reads_are_closed_gets_none(path: Path) -> None:
    reads = LongReads(path, connections=1)
    began, may_end = threading.Event(), threading.Event()

    def work(_: Connection, __: TimeBound) -> None:
        began.set()
        may_end.wait(60)

    working = asyncio.ensure_future(reads.run(work, "one"))
    await asyncio.to_thread(began.wait, 60)
    waiting = asyncio.ensure_future(reads.run(asking("SELECT 1"), "two"))
    await asyncio.sleep(0)
    await reads.close()
    may_end.set()

    await working
    with pytest.raises(StoreClosing):
        await waiting


async def test_what_a_read_logs_is_of_the_request_that_asked_for_it(path: Path) -> None:
    seen: list[tuple[str, str]] = []

    class Seeing(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            seen.append((_REQUEST.get(), record.getMessage()))

    log, handler = logging.getLogger("mcp_agent_mail.store.sql"), Seeing()
    reads = LongReads(path, connections=1, echo=True)
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    try:
        for request in ("r1", "r2"):
            _REQUEST.set(request)
            await reads.run(asking(f"SELECT '{request}'"))
    finally:
        log.removeHandler(handler)
        log.setLevel(logging.NOTSET)

    assert {("r1", "SELECT 'r1'"), ("r2", "SELECT 'r2'")} <= set(seen)
    await reads.close()


async def test_each_read_has_the_whole_time(path: Path) -> None:
    reads = LongReads(path, connections=1, time_bound_s=0.5)
    await reads.run(this_thread)
    await asyncio.sleep(0.6)

    assert await reads.run(asking(f"SELECT count(*) FROM ({NUMBERS} LIMIT 60000)")) == [(60_000,)]

    await reads.close()

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from mcp_agent_mail.core.concurrency.turns import TooMuchAtOnce
from mcp_agent_mail.store.engine.long_reads import LongReads, ReadTooLong

_NUMBERS = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n"
_ENDLESS = f"SELECT count(*) FROM ({_NUMBERS})"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "scratch.sqlite3"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("CREATE TABLE scratch (text TEXT)")
    return path


async def test_connections_are_opened_when_needed_and_lent_again(path: Path) -> None:
    reads = LongReads(path, connections=2)
    async with reads.connection("one") as first, reads.connection("two") as second:
        assert first is not second
    async with reads.connection() as again:
        assert again in (first, second)

    await reads.close()


async def test_a_long_read_cannot_write(path: Path) -> None:
    reads = LongReads(path)
    async with reads.connection() as connection:
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            await connection.execute("INSERT INTO scratch VALUES ('x')")

    await reads.close()


async def test_a_query_that_runs_too_long_is_interrupted_and_its_connection_works_again(path: Path) -> None:
    reads = LongReads(path, connections=1, time_bound_s=0.05)
    with pytest.raises(ReadTooLong):
        async with reads.connection() as connection:
            await connection.execute_fetchall(_ENDLESS)

    async with reads.connection() as connection:
        assert list(await connection.execute_fetchall("SELECT 1")) == [(1,)]
    await reads.close()


async def test_a_long_query_within_the_bound_is_answered(path: Path) -> None:
    reads = LongReads(path, time_bound_s=3_600)
    async with reads.connection() as connection:
        rows = list(await connection.execute_fetchall(f"SELECT count(*) FROM ({_NUMBERS} LIMIT 200000)"))

    assert rows == [(200_000,)]
    await reads.close()


async def test_the_time_bound_holds_for_a_statement_that_begins_after_it(path: Path) -> None:
    reads = LongReads(path, connections=1, time_bound_s=0.0)

    async def read_twice() -> None:
        async with reads.connection() as connection:
            await connection.execute_fetchall("SELECT 1")
            await connection.execute_fetchall(_ENDLESS)

    with pytest.raises(ReadTooLong):
        await read_twice()
    await reads.close()


async def test_a_cancelled_read_frees_its_thread(path: Path) -> None:
    reads = LongReads(path, connections=1, time_bound_s=3_600)
    begun = asyncio.Event()

    async def read() -> None:
        async with reads.connection() as connection:
            begun.set()
            await connection.execute_fetchall(_ENDLESS)

    reading = asyncio.create_task(read())
    await begun.wait()
    await asyncio.sleep(0)
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading

    async with reads.connection() as connection:
        assert list(await connection.execute_fetchall("SELECT 1")) == [(1,)]
    await reads.close()


async def test_those_who_wait_for_a_connection_are_bounded(path: Path) -> None:
    reads = LongReads(path, connections=1, max_waiting=0)
    async with reads.connection():
        with pytest.raises(TooMuchAtOnce):
            async with reads.connection():
                pass

    await reads.close()


async def test_a_connection_lent_out_while_closing_is_closed_when_it_comes_back(path: Path) -> None:
    reads = LongReads(path)
    async with reads.connection() as connection:
        await reads.close()
        assert list(await connection.execute_fetchall("SELECT 1")) == [(1,)]

    with pytest.raises(ValueError, match="closed"):
        await connection.execute_fetchall("SELECT 1")


async def test_a_mistake_in_a_query_stays_what_it_is(path: Path) -> None:
    reads = LongReads(path)
    with pytest.raises(sqlite3.OperationalError, match="no such table"):
        async with reads.connection() as connection:
            await connection.execute_fetchall("SELECT 1 FROM nowhere")

    await reads.close()


async def test_who_asks_for_much_leaves_a_connection_to_others(path: Path) -> None:
    reads = LongReads(path, connections=2, time_bound_s=3_600)

    async def read_without_end() -> None:
        async with reads.connection("many") as connection:
            await connection.execute_fetchall(_ENDLESS)

    endless = [asyncio.create_task(read_without_end()) for _ in range(6)]
    await asyncio.sleep(0)
    async with reads.connection("one") as connection:
        ((answer,),) = await connection.execute_fetchall("SELECT 1")
    are_running = [not reading.done() for reading in endless]
    for reading in endless:
        reading.cancel()
    await asyncio.gather(*endless, return_exceptions=True)

    assert (answer, are_running) == (1, [True] * 6)
    await reads.close()

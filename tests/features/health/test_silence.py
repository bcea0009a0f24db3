from __future__ import annotations

import logging
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from mcp_agent_mail.features.health.silence import HARDLY_ANY, INTERVAL_S, SilenceWorker
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.engine.writer import StoreClosed

BUSY_S, IDLE_S = 2 * HARDLY_ANY * INTERVAL_S, HARDLY_ANY * INTERVAL_S / 2


class Watched:
    """Counts how often memory was given back while the process used what `passes` are told."""

    def __init__(self, store: Store) -> None:
        self.used_s = 0.0
        self.given_back = 0
        self._quiet = SilenceWorker(store, cpu_s=lambda: self.used_s, give_back=self._give_back)

    async def passes(self, *used_s: float) -> int:
        """How often, after so many passes more."""
        for used in used_s:
            self.used_s += used
            await self._quiet.look()
        return self.given_back

    def _give_back(self) -> None:
        self.given_back += 1


@asynccontextmanager
async def watched(tmp_path: Path) -> AsyncIterator[tuple[Store, Watched]]:
    async with Store(tmp_path / "mail.sqlite3", echo=True) as store:
        yield store, Watched(store)


async def test_memory_is_given_back_once_after_each_time_of_work(tmp_path: Path) -> None:
    async with watched(tmp_path) as (_, process):
        after_start = await process.passes(IDLE_S, IDLE_S, IDLE_S, IDLE_S)
        while_busy = await process.passes(BUSY_S, BUSY_S, IDLE_S)
        after_work = await process.passes(IDLE_S, IDLE_S, IDLE_S)

    assert (after_start, while_busy, after_work) == (1, 1, 2)


async def test_work_in_between_puts_it_off(tmp_path: Path) -> None:
    async with watched(tmp_path) as (_, process):
        assert await process.passes(BUSY_S, IDLE_S, BUSY_S, IDLE_S) == 0
        assert await process.passes(IDLE_S) == 1


async def test_every_connection_lets_go_of_its_pages(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with watched(tmp_path) as (store, process):
        others = set(threading.enumerate())
        await store.long_read(lambda connection, _: connection.execute("SELECT count(*) FROM messages").fetchone())
        threads = set(threading.enumerate()) - others
        caplog.set_level(logging.INFO, logger="mcp_agent_mail.store.sql")
        await process.passes(BUSY_S, IDLE_S, IDLE_S)
        freed = [record.getMessage() for record in caplog.records].count("PRAGMA shrink_memory")
        for thread in threads:
            thread.join(5)
        left = [thread for thread in threads if thread.is_alive()]
        found = await store.long_read(lambda connection, _: connection.execute("SELECT 1").fetchone())

    assert freed == 2
    assert (len(threads), left) == (1, [])
    assert found == (1,)


async def test_where_the_store_cannot_be_written_memory_is_given_back_and_the_next_pass_tries_again(
    tmp_path: Path,
) -> None:
    async with Store(tmp_path / "mail.sqlite3") as store:
        process = Watched(store)
    for tries in (1, 2):
        with pytest.raises(StoreClosed):
            await process.passes(*[IDLE_S] * (3 - tries))
        assert process.given_back == tries


async def test_memory_is_given_back_in_a_thread_beside_the_loop(tmp_path: Path) -> None:
    threads: list[int] = []
    async with Store(tmp_path / "mail.sqlite3") as store:
        worker = SilenceWorker(store, cpu_s=lambda: 0.0, give_back=lambda: threads.append(threading.get_ident()))
        for _ in range(2):
            await worker.look()

    assert len(threads) == 1
    assert threads != [threading.get_ident()]


async def test_what_giving_back_costs_is_no_work_of_the_server(tmp_path: Path) -> None:
    used_s, given_back = 0.0, 0

    def give_back() -> None:
        nonlocal used_s, given_back
        used_s += BUSY_S
        given_back += 1

    async with Store(tmp_path / "mail.sqlite3") as store:
        worker = SilenceWorker(store, cpu_s=lambda: used_s, give_back=give_back)
        for _ in range(8):
            await worker.look()

    assert given_back == 1


async def test_hardly_any_work_is_a_share_of_the_time_between_two_looks(tmp_path: Path) -> None:
    used_s, given_back = 0.0, []
    async with Store(tmp_path / "mail.sqlite3") as store:
        worker = SilenceWorker(
            store, interval_s=10 * INTERVAL_S, cpu_s=lambda: used_s, give_back=lambda: given_back.append(used_s)
        )
        for _ in range(2):
            used_s += BUSY_S
            await worker.look()

    assert given_back == [2 * BUSY_S]

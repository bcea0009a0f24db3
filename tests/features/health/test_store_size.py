"""What a store takes, measured on a real one: each part that it grows in, and how it shrinks again."""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest

from mcp_agent_mail.core.concurrency.looks import DirectorySilent, Looks
from mcp_agent_mail.domain.store_limits import Shortage, StoreLimits
from mcp_agent_mail.features.health.store_size import StoreSizeFigures, StoreSizeWorker
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.engine.disk_usage import bytes_on_disk
from mcp_agent_mail.store.engine.growth_limit import StoreTooLarge
from mcp_agent_mail.store.engine.sqlite.connection import open_reading
from mcp_agent_mail.store.transaction import Tx
from tests.store.engine.test_disk_usage import du, write

MIB = 2**20


def limits(max_used: int = 2**50, min_free: int = 0) -> StoreLimits:
    return StoreLimits(max_used=max_used, min_free=min_free)


def add_pages(tx: Tx) -> None:
    connection = tx.messages._connection
    connection.execute("CREATE TABLE IF NOT EXISTS ballast (bytes BLOB) STRICT")
    connection.execute(f"INSERT INTO ballast VALUES (zeroblob({2 * MIB}))")


def drop_pages(tx: Tx) -> None:
    tx.messages._connection.execute("DELETE FROM ballast")


@asynccontextmanager
async def measured(root: Path) -> AsyncIterator[tuple[Store, StoreSizeWorker]]:
    """The store and what watches it, which lets it grow by 1 MiB."""
    async with Store(root / "mail.sqlite3") as store:
        first = StoreSizeWorker(store, limits(), root)
        await first.look()
        used = first.figures().used_bytes
        assert used is not None
        yield store, StoreSizeWorker(store, limits(used + MIB), root)


async def is_refused(store: Store) -> bool:
    try:
        await store.write(lambda tx: tx.require_room())
    except StoreTooLarge:
        return True
    return False


async def test_a_look_counts_everything_below_the_root_and_free_pages_as_room(tmp_path: Path) -> None:
    write(tmp_path / "projects" / "a" / ".git" / "objects" / "pack" / "pack-1.pack", 3 * MIB)
    async with measured(tmp_path) as (store, worker):
        assert worker.figures() == StoreSizeFigures(used_bytes=None, free_bytes=None, is_whole=False)
        await store.write(add_pages)
        await worker.look()
        full = worker.figures().used_bytes
        assert full == du(tmp_path)
        await store.write(drop_pages)
        await worker.look()

        unused = await store.read(lambda view: view.meta.unused_bytes())
        assert unused >= 2 * MIB
        assert worker.figures().used_bytes == du(tmp_path) - unused


async def test_a_database_elsewhere_counts_too(tmp_path: Path) -> None:
    (tmp_path / "root").mkdir()
    async with Store(tmp_path / "elsewhere.sqlite3") as store:
        worker = StoreSizeWorker(store, limits(), tmp_path / "root")
        await worker.look()

        assert worker.figures().used_bytes == du(tmp_path) - bytes_on_disk(tmp_path)


@pytest.mark.parametrize("part", ["attachments/ab/content", "projects/a/messages/one.md", "server.log"])
async def test_files_that_come_stop_growth_and_their_end_lets_it_go_on(part: str, tmp_path: Path) -> None:
    async with measured(tmp_path) as (store, worker):
        await worker.look()
        before = await is_refused(store)
        large = write(tmp_path / part, 2 * MIB)
        await worker.look()
        while_full = await is_refused(store)
        large.unlink()
        await worker.look()

        assert (before, while_full, await is_refused(store)) == (False, True, False)


async def test_the_database_stops_growth_and_what_is_deleted_in_it_lets_it_go_on(tmp_path: Path) -> None:
    async with measured(tmp_path) as (store, worker):
        await store.write(add_pages)
        await worker.look()
        while_full = await is_refused(store)
        await store.write(drop_pages)
        checkpoint(store)
        await worker.look()

        assert (while_full, await is_refused(store)) == (True, False)


async def test_a_log_that_a_reader_keeps_from_being_put_away_stops_growth(tmp_path: Path) -> None:
    async with measured(tmp_path) as (store, worker):
        checkpoint(store)
        with closing(open_reading(store.path)) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM meta").fetchone()
            log = store.path.with_name("mail.sqlite3-wal")
            while log.stat().st_size < 4 * MIB:
                await store.write(rewrite_pages)
            await worker.look()
            while_full = await is_refused(store)
        checkpoint(store)
        await worker.look()

        assert (while_full, await is_refused(store)) == (True, False)


def rewrite_pages(tx: Tx) -> None:
    """The database stays as large as it is, the log gets a hundred pages."""
    connection = tx.messages._connection
    connection.execute("CREATE TABLE IF NOT EXISTS ballast (bytes BLOB) STRICT")
    connection.execute("DELETE FROM ballast")
    connection.execute("INSERT INTO ballast VALUES (zeroblob(400000))")


def checkpoint(store: Store) -> None:
    """Put the log away, as SQLite does by itself; and give its room back at once."""
    with closing(sqlite3.connect(store.path)) as connection:
        assert connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0


async def test_many_files_are_seen_bit_by_bit_and_the_first_count_never_falls(tmp_path: Path) -> None:
    for number in range(50):
        write(tmp_path / "projects" / f"p{number}" / "file", 8_192)
    async with Store(tmp_path / "mail.sqlite3") as store:
        worker = StoreSizeWorker(store, limits(), tmp_path, looks_at_once=20)
        used = []
        while not worker.figures().is_whole:
            await worker.look()
            used.append(worker.figures().used_bytes or 0)

        assert len(used) >= 5
        assert used == sorted(used)
        assert used[-1] == du(tmp_path)


async def test_a_store_that_is_too_large_is_refused_as_soon_as_so_much_was_seen(tmp_path: Path) -> None:
    for number in range(50):
        write(tmp_path / "projects" / f"p{number}" / "file", MIB // 4)
    async with Store(tmp_path / "mail.sqlite3") as store:
        worker = StoreSizeWorker(store, limits(4 * MIB), tmp_path, looks_at_once=60)
        while not await is_refused(store):
            assert not worker.figures().is_whole
            await worker.look()

        assert not worker.figures().is_whole


async def test_what_begins_and_ends_is_logged_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="mcp_agent_mail.store_size")
    async with measured(tmp_path) as (_, worker):
        large = write(tmp_path / "large", 2 * MIB)
        for _ in range(3):
            await worker.look()
        large.unlink()
        for _ in range(3):
            await worker.look()

    assert [record.getMessage() for record in caplog.records if record.name.endswith("store_size")] == [
        "the store may not grow",
        "the store may grow again",
    ]


async def test_a_disk_that_hangs_leaves_what_was_known_and_holds_nobody_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on = threading.Event()
    async with measured(tmp_path) as (store, worker):
        write(tmp_path / "large", 2 * MIB)
        await worker.look()
        before = worker.figures()
        monkeypatch.setattr(worker, "looks", Looks(threads=1, within_s=0.05))
        monkeypatch.setattr(worker._folders, "step", lambda *_: go_on.wait())
        try:
            with pytest.raises(DirectorySilent):
                await worker.look()
        finally:
            go_on.set()

        assert worker.figures() == before
        assert store.growth.shortage is Shortage.TOO_LARGE


async def test_it_works_beside_the_requests_until_it_is_stopped(tmp_path: Path) -> None:
    async with measured(tmp_path) as (_, worker):
        worker.start()
        while worker.figures().used_bytes is None:
            await worker.keeper.rest(0)
        running = worker.keeper.is_running
        await worker.stop(5.0)

        assert (running, worker.keeper.is_running) == (True, False)


@pytest.mark.parametrize(("max_used", "is_slow"), [(2**50, True), (24 * MIB, False)])
async def test_far_from_its_limit_a_store_is_gone_through_slowly(max_used: int, is_slow: bool, tmp_path: Path) -> None:
    for number in range(40):
        write(tmp_path / "projects" / f"p{number}" / "file", MIB // 2)
    async with Store(tmp_path / "mail.sqlite3") as store:
        worker = StoreSizeWorker(store, limits(max_used), tmp_path, looks_at_once=150)
        await worker.look()
        assert worker.figures().is_whole
        before = worker.figures().used_bytes
        write(tmp_path / "projects" / "large", 3 * MIB)

        await worker.look()

        assert (worker.figures().used_bytes == before) is is_slow

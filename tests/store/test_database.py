from __future__ import annotations

import itertools
import logging
import os
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.engine.connection import open_reading, open_writing
from mcp_agent_mail.store.engine.writer import StoreClosed
from mcp_agent_mail.store.transaction import View
from tests.seeded_store import SetClock, add_project


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    async with Store(tmp_path / "mail.sqlite3", clock=SetClock()) as opened:
        yield opened


async def test_a_read_cannot_write(store: Store) -> None:
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        await store.read(lambda view: view.meta.note_check(Micros(1)))

    assert await store.read(lambda view: view.meta.checked_at()) is None


async def test_a_read_sees_one_instant_of_the_store(store: Store) -> None:
    def look_twice(view: View) -> tuple[Micros | None, Micros | None]:
        before = view.meta.checked_at()
        writing = open_writing(store.path)
        writing.execute("INSERT INTO meta (key, value) VALUES ('health_checked_at', '7')")
        writing.commit()
        writing.close()
        return before, view.meta.checked_at()

    assert await store.read(look_twice) == (None, None)
    assert await store.read(lambda view: view.meta.checked_at()) == 7


async def test_reads_still_answer_after_the_writer_has_stopped(store: Store) -> None:
    project = await store.write(lambda tx: add_project(tx, "/code/app"))

    await store._writer.close()

    with pytest.raises(StoreClosed):
        await store.write(lambda tx: tx.now)
    assert await store.read(lambda view: view.projects.find(project.id)) == project
    async with store.long_read() as connection:
        assert list(await connection.execute_fetchall("SELECT count(*) FROM projects")) == [(1,)]


async def test_a_closed_store_leaves_one_file_and_can_be_opened_again(tmp_path: Path) -> None:
    path = tmp_path / "mail.sqlite3"
    async with Store(path) as store:
        store_id = await store.read(lambda view: view.meta.store_id())

    assert os.listdir(tmp_path) == ["mail.sqlite3"]  # noqa: PTH208  # pathlib's is refused in a coroutine.
    async with Store(path) as store:
        assert await store.read(lambda view: view.meta.store_id()) == store_id


async def test_statements_are_logged_without_their_values(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="mcp_agent_mail.store.sql")
    async with Store(tmp_path / "mail.sqlite3", echo=True) as store:
        await store.write(lambda tx: add_project(tx, "/secret/path"))

    assert any("INSERT INTO projects" in record.getMessage() for record in caplog.records)
    assert not any("/secret/path" in record.getMessage() for record in caplog.records)


def test_the_writing_connection_waits_for_the_disk_and_keeps_references_whole(tmp_path: Path) -> None:
    writing = open_writing(tmp_path / "scratch.sqlite3")

    pragmas = {name: writing.execute(f"PRAGMA {name}").fetchone()[0] for name in ("synchronous", "foreign_keys")}
    (journal_mode,) = writing.execute("PRAGMA journal_mode").fetchone()
    writing.close()

    assert pragmas == {"synchronous": 2, "foreign_keys": 1}
    assert journal_mode == "wal"


def test_a_reading_connection_is_doubly_kept_from_writing(tmp_path: Path) -> None:
    path = tmp_path / "scratch.sqlite3"
    with closing(open_writing(path)) as writing:
        writing.execute("CREATE TABLE scratch (text TEXT)")

    with closing(open_reading(path)) as reading:
        assert reading.execute("PRAGMA query_only").fetchone() == (1,)
        reading.execute("PRAGMA query_only=OFF")
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            reading.execute("INSERT INTO scratch VALUES ('x')")


def test_a_reading_connection_makes_no_file(tmp_path: Path) -> None:
    with pytest.raises(sqlite3.OperationalError, match="unable to open"):
        open_reading(tmp_path / "missing.sqlite3")

    assert list(tmp_path.iterdir()) == []


async def test_time_stands_still_within_a_unit_of_work_and_within_a_read(tmp_path: Path) -> None:
    ticks = itertools.count(1_000)
    async with Store(tmp_path / "mail.sqlite3", clock=lambda: Micros(next(ticks))) as store:

        def twice(view: View) -> tuple[Micros, Micros]:
            return view.now, view.now

        first, second = await store.write(twice), await store.write(twice)
        third, fourth = await store.read(twice), await store.read(twice)

    assert all(one == other for one, other in (first, second, third, fourth))
    assert first < second < third < fourth

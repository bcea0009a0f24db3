from __future__ import annotations

import logging
import os
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.engine.sqlite.connection import open_writing
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
    sql = "SELECT count(*) FROM projects"
    assert await store.long_read(lambda connection, _: connection.execute(sql).fetchone()) == (1,)


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

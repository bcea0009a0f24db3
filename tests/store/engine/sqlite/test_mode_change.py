"""A process that was killed while a store went over to WAL mode leaves a journal that only a writer can take back."""

from __future__ import annotations

import sqlite3
import struct
from contextlib import closing
from pathlib import Path

import pytest

from mcp_agent_mail.core.failpoints import no_fault
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.engine.sqlite.connection import open_reading
from mcp_agent_mail.store.engine.sqlite.migrate import PAGE_BYTES, migrate, take_back_unfinished
from tests.store.engine.sqlite.hot_journal import write_hot_journal


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A new store whose change to WAL mode stopped after its journal was written."""
    path = tmp_path / "mail.sqlite3"
    migrate(path, fault_hook=no_fault)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode=DELETE")
    content = path.read_bytes()
    page = content[:PAGE_BYTES]
    pages = len(content) // PAGE_BYTES
    head = struct.pack(">8sIIIII", bytes.fromhex("d9d505f920a163d7"), 1, 0, pages, 512, PAGE_BYTES).ljust(512, b"\0")
    checksum = sum(page[at] for at in range(PAGE_BYTES - 200, 0, -200))
    journal_of(path).write_bytes(head + struct.pack(">I", 1) + page + struct.pack(">I", checksum))
    with path.open("r+b") as file:
        file.seek(18)
        file.write(b"\2\2")
    return path


def journal_of(path: Path) -> Path:
    return path.with_name(f"{path.name}-journal")


def test_a_new_store_is_in_wal_mode_before_it_has_its_name(tmp_path: Path) -> None:
    path = tmp_path / "mail.sqlite3"

    migrate(path, fault_hook=no_fault)

    assert path.read_bytes()[18:20] == b"\2\2"
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


async def test_a_store_that_was_left_amid_the_change_starts(path: Path) -> None:
    with pytest.raises(sqlite3.OperationalError), closing(open_reading(path)) as connection:
        connection.execute("SELECT count(*) FROM meta").fetchone()

    async with Store(path) as store:
        assert await store.read(lambda view: view.meta.schema_version()) > 0
    assert not journal_of(path).exists()


@pytest.mark.parametrize("at", [0, 600, 1_500])
def test_a_journal_that_would_change_anything_is_left_alone(path: Path, at: int) -> None:
    journal = journal_of(path)
    record = bytearray(journal.read_bytes())
    record[-2_052 + at] ^= 1
    journal.write_bytes(record)
    before = path.read_bytes()

    take_back_unfinished(path)

    assert (path.read_bytes(), journal.read_bytes()) == (before, bytes(record))


def test_another_databases_journal_is_left_alone(path: Path) -> None:
    left = write_hot_journal(path).read_bytes()
    before = path.read_bytes()

    take_back_unfinished(path)

    assert (path.read_bytes(), journal_of(path).read_bytes()) == (before, left)


@pytest.mark.parametrize("is_longer", [True, False])
def test_a_journal_of_more_or_less_than_the_first_page_is_left_alone(path: Path, *, is_longer: bool) -> None:
    journal = journal_of(path)
    whole = journal.read_bytes()
    left = whole + whole[512:] if is_longer else whole[:-10]
    journal.write_bytes(left)
    before = path.read_bytes()

    take_back_unfinished(path)

    assert (path.read_bytes(), journal.read_bytes()) == (before, left)

from __future__ import annotations

import asyncio
import sqlite3
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from mcp_agent_mail.core.disk_space import DiskFull
from mcp_agent_mail.store.checks.integrity import DatabasePart, find_faults, is_sound
from mcp_agent_mail.store.engine.sqlite.connection import add_functions
from mcp_agent_mail.store.engine.sqlite.migrate import ForeignStore, shipped_migrations
from mcp_agent_mail.store.engine.sqlite.schema import ForeignParts
from tests.faults.disks import small_disk
from tests.seeded_store import open_seeded_store
from tests.store.foreign_parts import put_check, put_view


def change(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        add_functions(connection)
        for statement in statements:
            connection.execute(statement)


async def post(folder: Path) -> None:
    async with open_seeded_store(folder) as seeded:
        await seeded.post(seeded.letter(seeded.blue), *seeded.addressed([seeded.red]))


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store in which one agent has one unread message, closed again."""
    asyncio.run(post(tmp_path))
    (path,) = tmp_path.glob("*.sqlite3")
    return path


def test_a_sound_store_has_no_faults(store: Path) -> None:
    assert find_faults(store) == []


def test_the_store_is_looked_at_in_a_copy(store: Path) -> None:
    before = store.read_bytes()

    find_faults(store)

    assert store.read_bytes() == before


def test_want_of_room_for_the_copy_is_no_fault_of_the_store(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether it lacks for the copy itself, or for what a check writes into that."""
    size_kib = store.stat().st_size // 1024
    found: list[object] = []
    for room_kib in range(size_kib - 16, size_kib + 96, 8):
        with small_disk(tmp_path / "disk", size_kib=room_kib) as disk:
            monkeypatch.setattr(tempfile, "tempdir", str(disk))
            try:
                found.append(find_faults(store))
            except DiskFull as full:
                found.append(full.data["disk"])

    assert set(map(str, found)) == {str(tmp_path / "disk"), "[]"}


@pytest.mark.parametrize(
    ("damage", "part"),
    [
        ("UPDATE messages SET sender_id = 99", DatabasePart.REFERENCES),
        (
            "UPDATE agents SET unread_count = unread_count + 1 WHERE id = 1",
            DatabasePart.COUNTERS,
        ),
        ("UPDATE counters SET value = 0", DatabasePart.COUNTERS),
        ("UPDATE counters SET value = -1 WHERE name = 'fencing'", DatabasePart.COUNTERS),
        ("UPDATE messages SET subject = 'changed behind the index'", DatabasePart.SEARCH_INDEX),
        ("INSERT INTO messages_fts (messages_fts) VALUES ('delete-all')", DatabasePart.SEARCH_INDEX),
        ("INSERT INTO identifiers_fts (rowid, name) VALUES (99, 'not_there')", DatabasePart.SEARCH_INDEX),
        ("DROP INDEX messages_sender", DatabasePart.SCHEMA),
        ("CREATE TABLE notes (text TEXT)", DatabasePart.SCHEMA),
        ("ALTER TABLE meta ADD COLUMN note TEXT", DatabasePart.SCHEMA),
    ],
)
def test_every_kind_of_damage_is_found(store: Path, damage: str, part: DatabasePart) -> None:
    change(store, damage)

    assert [fault.part for fault in find_faults(store)] == [part]


@pytest.mark.parametrize("damaged", ["sqlite_schema", "messages_sender", "messages", "messages_fts_data"])
def test_damaged_pages_are_found(store: Path, damaged: str) -> None:
    change(store, "PRAGMA wal_checkpoint(TRUNCATE)")
    with closing(sqlite3.connect(store)) as connection:
        (page_bytes,) = connection.execute("PRAGMA page_size").fetchone()
        root = "SELECT max(rootpage) FROM (SELECT rootpage FROM sqlite_schema WHERE name = ? UNION SELECT 1)"
        (page,) = connection.execute(root, (damaged,)).fetchone()
    start = (page - 1) * page_bytes + (100 if page == 1 else 0)
    content = bytearray(store.read_bytes())
    content[start : start + 56] = b"\xff" * 56
    store.write_bytes(bytes(content))

    assert DatabasePart.PAGES in {fault.part for fault in find_faults(store)}


def test_a_changed_schema_is_told_by_name(store: Path) -> None:
    change(store, "DROP INDEX messages_sender", "CREATE TABLE notes (text TEXT)")

    newest = len(shipped_migrations())
    assert [fault.evidence for fault in find_faults(store)] == [
        f"messages_sender is missing (schema {newest})",
        f"notes is not of this program (schema {newest})",
    ]


def test_another_programs_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.sqlite3"
    change(path, "CREATE TABLE t (x)")

    with pytest.raises(ForeignStore):
        find_faults(path)


@pytest.mark.parametrize("spoil", [put_view, put_check])
def test_a_strangers_parts_are_told_and_not_run(spoil: Callable[[Path, str], None], store: Path) -> None:
    spoil(store, "counters")

    faults = find_faults(store)

    assert {fault.part for fault in faults} == {DatabasePart.SCHEMA}
    assert any("counters differs" in fault.evidence for fault in faults)
    with pytest.raises(ForeignParts):
        is_sound(store)


def test_where_the_schema_cannot_be_told_nothing_that_it_says_is_run(store: Path) -> None:
    put_view(store, "counters")
    unreadable = "UPDATE sqlite_schema SET name = CAST(x'ff' AS TEXT) WHERE name = 'agents'"
    change(store, "PRAGMA writable_schema = ON", unreadable)

    assert [fault.evidence.split(":")[0] for fault in find_faults(store)] == ["schema cannot be read"]

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from mcp_agent_mail.core.failpoints import no_fault
from mcp_agent_mail.store.checks.quick_look import require_undamaged
from mcp_agent_mail.store.engine.sqlite.faults import StoreDamaged
from mcp_agent_mail.store.engine.sqlite.migrate import migrate
from mcp_agent_mail.store.engine.sqlite.schema import ForeignParts
from tests.store.foreign_parts import put_check, put_view


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "mail.sqlite3"
    migrate(path, fault_hook=no_fault)
    return path


def overwrite(database: Path, begin: int, end: int) -> None:
    content = bytearray(database.read_bytes())
    content[begin:end] = b"\xa5" * len(content[begin:end])
    database.write_bytes(content)


def test_in_a_good_database_nothing_is_seen(database: Path) -> None:
    require_undamaged(database)
    require_undamaged(database, whole_up_to_bytes=0)


def test_pages_that_were_overwritten_are_told_with_the_ways_back(database: Path) -> None:
    overwrite(database, 4_096, database.stat().st_size)

    for most in (0, 1 << 30):
        with pytest.raises(StoreDamaged, match="malformed") as told:
            require_undamaged(database, whole_up_to_bytes=most)
        assert "am doctor restore BACKUP" in told.value.hint
        assert "am doctor rebuild" in told.value.hint


def test_of_a_small_one_each_page_is_looked_at(database: Path, tmp_path: Path) -> None:
    for page in range(1, database.stat().st_size // 2_048):
        broken = tmp_path / "broken.sqlite3"
        shutil.copyfile(database, broken)
        overwrite(broken, page * 2_048, (page + 1) * 2_048)
        with pytest.raises(StoreDamaged):
            require_undamaged(broken)


@pytest.mark.parametrize("table", ["messages", "outbox", "counters", "guard_events"])
def test_of_a_large_one_each_table_is_begun(table: str, database: Path) -> None:
    with closing(sqlite3.connect(database)) as connection:
        (page,) = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", (table,)).fetchone()
        (size,) = connection.execute("PRAGMA page_size").fetchone()
    overwrite(database, (page - 1) * size, page * size)

    with pytest.raises(StoreDamaged):
        require_undamaged(database, whole_up_to_bytes=0)


@pytest.mark.parametrize("spoil", [put_view, put_check])
def test_a_strangers_parts_are_not_run_by_a_look(spoil: Callable[[Path, str], None], database: Path) -> None:
    spoil(database, "meta")

    with pytest.raises(ForeignParts, match="meta differs"):
        require_undamaged(database)

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from mcp_agent_mail.core.failpoints import no_fault
from mcp_agent_mail.store.checks.quick_look import require_undamaged
from mcp_agent_mail.store.engine.faults import StoreDamaged
from mcp_agent_mail.store.engine.migrate import migrate


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

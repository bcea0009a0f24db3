from __future__ import annotations

import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest

from mcp_agent_mail.store.engine.sqlite import database_copy
from mcp_agent_mail.store.engine.sqlite.connection import open_writing
from mcp_agent_mail.store.engine.sqlite.database_copy import CopyFailed, copy_database
from mcp_agent_mail.store.engine.sqlite.migrate import ForeignStore
from tests.on_disk import OnDisk
from tests.store_templates import blank_store

_ADD = "INSERT INTO meta (key, value) VALUES (?, ?)"


def _keys(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        (count,) = connection.execute("SELECT count(*) FROM meta WHERE key LIKE 'k%'").fetchone()
        return int(count)


def test_a_copy_is_of_one_instant_whatever_is_written_meanwhile(tmp_path: Path) -> None:
    blank_store().lay(tmp_path / "mail.sqlite3")
    with closing(open_writing(tmp_path / "mail.sqlite3")) as writing:
        for number in range(1_000):
            writing.execute(_ADD, (f"k{number}", "x" * 2_000))
        writing.commit()
        steps = 0

        def write_on(_done: int, _total: int) -> None:
            nonlocal steps
            steps += 1
            writing.execute(_ADD, (f"k later {steps}", "y"))
            writing.commit()

        copy_database(tmp_path / "mail.sqlite3", tmp_path / "copy", pause_s=0, progress=write_on)

    assert steps > 2
    assert _keys(tmp_path / "copy") == 1_000
    assert stat.S_IMODE((tmp_path / "copy").stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.glob("copy*")] == ["copy"]


def test_a_copy_of_few_pages_is_on_disk_as_one_of_many_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blank_store().lay(tmp_path / "mail.sqlite3")
    with closing(sqlite3.connect(tmp_path / "mail.sqlite3")) as connection:
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
    on_disk = OnDisk(monkeypatch)

    for pages_at_once in (pages, 1):
        copy = tmp_path / f"copy-by-{pages_at_once}"
        monkeypatch.setattr(database_copy, "_PAGES_AT_ONCE", pages_at_once)
        copy_database(tmp_path / "mail.sqlite3", copy, pause_s=0)
        assert on_disk.has(copy)


def test_another_programs_file_is_not_copied(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("text")

    with pytest.raises(ForeignStore):
        copy_database(tmp_path / "file", tmp_path / "copy")


def test_a_database_that_cannot_be_read_to_its_end_is_no_copy(tmp_path: Path) -> None:
    blank_store().lay(tmp_path / "mail.sqlite3")
    content = bytearray((tmp_path / "mail.sqlite3").read_bytes())
    content[100:200] = b"\xff" * 100
    (tmp_path / "mail.sqlite3").write_bytes(content)

    with pytest.raises(CopyFailed):
        copy_database(tmp_path / "mail.sqlite3", tmp_path / "copy")

"""The copy is whole, the original stays bit for bit, and what is no database is said to be none."""

from __future__ import annotations

import os
import resource
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from mcp_agent_mail.core.disk_space import DiskFull
from mcp_agent_mail.domain.importing.refusals import SourceInUse, SourceUnreadable
from mcp_agent_mail.domain.own_files import APPLICATION_ID
from mcp_agent_mail.store.foreign import private_copy
from mcp_agent_mail.store.foreign.private_copy import copy_privately, require_foreign_database
from tests.facades.importers.untouched import state_of


def _database(path: Path, *, journal: str = "DELETE") -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute(f"PRAGMA journal_mode={journal}")
    connection.execute("CREATE TABLE notes (text)")
    connection.execute("INSERT INTO notes VALUES ('kept')")
    return connection


def test_what_is_only_in_the_log_is_in_the_copy_and_the_original_stays(tmp_path: Path) -> None:
    source = tmp_path / "source.db"
    target = tmp_path / "copy"
    target.mkdir()
    with closing(_database(source, journal="WAL")):
        before = state_of(source)
        copy = copy_privately(source, target)
        with closing(sqlite3.connect(copy)) as reading:
            assert reading.execute("SELECT text FROM notes").fetchall() == [("kept",)]

        assert state_of(source) == before
    assert copy.stat().st_mode & 0o077 == 0


def test_a_source_that_changes_all_the_time_is_told_to_be_in_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = tmp_path / "source.db"
    _database(source).close()
    (tmp_path / "copy").mkdir()
    copy = private_copy._copy

    def copy_while_written(original: Path, target: Path) -> None:
        copy(original, target)
        with original.open("ab") as file:
            file.write(b"x")

    monkeypatch.setattr(private_copy, "_copy", copy_while_written)

    with pytest.raises(SourceInUse, match="changes while it is read"):
        copy_privately(source, tmp_path / "copy")
    assert not list((tmp_path / "copy").iterdir())


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    _database(tmp_path / "source.db").close()
    (tmp_path / "link.db").symlink_to(tmp_path / "source.db")

    with pytest.raises(SourceUnreadable, match="it is a symbolic link"):
        require_foreign_database(tmp_path / "link.db")
    with pytest.raises(SourceUnreadable, match="it is a symbolic link"):
        copy_privately(tmp_path / "link.db", tmp_path)


def test_a_log_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    _database(tmp_path / "source.db").close()
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "source.db-wal").symlink_to(tmp_path / "secret")
    (tmp_path / "copy").mkdir()

    with pytest.raises(SourceUnreadable, match="it is a symbolic link"):
        copy_privately(tmp_path / "source.db", tmp_path / "copy")


@pytest.mark.parametrize(
    ("content", "why"), [(b"", "it is empty"), (b"SQLite", "no SQLite database"), (b"x" * 200, "no SQLite database")]
)
def test_what_is_no_database_is_refused(content: bytes, why: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(content)

    with pytest.raises(SourceUnreadable, match=why):
        require_foreign_database(tmp_path / "file")


def test_a_folder_a_pipe_and_nothing_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    for name, why in (("", "no ordinary file|directory"), ("pipe", "no ordinary file"), ("none", "no such file")):
        with pytest.raises(SourceUnreadable, match=why):
            require_foreign_database(tmp_path / name)


def test_a_database_of_this_program_is_told_to_be_one(tmp_path: Path) -> None:
    with closing(_database(tmp_path / "mail.sqlite3")) as connection:
        connection.execute(f"PRAGMA application_id={APPLICATION_ID}")

    with pytest.raises(SourceUnreadable, match="of this program itself"):
        require_foreign_database(tmp_path / "mail.sqlite3")


@pytest.mark.parametrize("left_out", [1, 200_000])
def test_a_copy_that_finds_no_room_is_refused_and_not_cut(tmp_path: Path, left_out: int) -> None:
    source, target = tmp_path / "source.db", tmp_path / "copy"
    target.mkdir()
    with closing(_database(source)) as filling:
        filling.execute("INSERT INTO notes VALUES (?)", ("x" * 3_000_000,))
    before, (soft, hard) = state_of(source), resource.getrlimit(resource.RLIMIT_FSIZE)

    resource.setrlimit(resource.RLIMIT_FSIZE, (source.stat().st_size - left_out, hard))
    try:
        with pytest.raises(DiskFull):
            copy_privately(source, target)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    assert state_of(source) == before

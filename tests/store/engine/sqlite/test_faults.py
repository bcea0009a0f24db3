"""What of SQLite's and the system's errors is told as a store that may not be written, and what is not."""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from mcp_agent_mail.store.engine.sqlite.faults import (
    StoreFailed,
    StoreUnwritable,
    may_be_unwritable,
    told_unwritable,
    told_when_unwritable,
)
from tests.faults.disks import read_only


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """In a store's folder; with a table, and a log as the server has it."""
    (tmp_path / "store").mkdir()
    path = tmp_path / "store" / "mail.sqlite3"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("CREATE TABLE t (n)")
    return path


def write(database: Path) -> None:
    with closing(sqlite3.connect(database, isolation_level=None)) as connection:
        connection.execute("INSERT INTO t VALUES (1)")


def lock(database: Path) -> None:
    (database.parent / "server.lock").touch()


@pytest.mark.parametrize(
    ("part", "act", "named"),
    [
        ("store", lock, "store"),
        ("store", write, "store/mail.sqlite3"),
        ("store/mail.sqlite3", write, "store/mail.sqlite3"),
    ],
)
def test_what_a_place_that_can_only_be_read_makes_fail_is_told_with_the_place(
    database: Path, tmp_path: Path, part: str, act: Callable[[Path], None], named: str
) -> None:
    with (
        read_only(tmp_path / part),
        pytest.raises(StoreUnwritable) as told,
        told_when_unwritable(database.parent, database),
    ):
        act(database)

    assert told.value.data == {"path": str(tmp_path / named)}
    assert told.value.hint
    assert may_be_unwritable(told.value)


def test_it_is_found_below_what_was_told_of_it_before(database: Path) -> None:
    refused = OSError(errno.EROFS, os.strerror(errno.EROFS), str(database.parent / "server.lock"))
    told = StoreFailed.because(refused)
    told.__cause__ = refused

    assert told_unwritable(ExceptionGroup("several", [told]), database.parent, database) is not None


def test_of_a_folder_that_may_be_written_the_refused_file_is_told(database: Path) -> None:
    gone = PermissionError(errno.EACCES, "Permission denied", str(database.parent / "projects" / "a" / "config"))
    with read_only(database):
        refused = PermissionError(errno.EACCES, "Permission denied", str(database))
        told = [told_unwritable(one, database.parent, database) for one in (refused, gone)]

    assert [one and one.data["path"] for one in told] == [str(database), str(database.parent)]


def test_whose_a_place_is_and_what_its_owner_may_are_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tmp_path.chmod(0o550)
    own = str(StoreUnwritable(tmp_path))
    monkeypatch.setattr(os, "geteuid", lambda: 54_321)
    others = str(StoreUnwritable(tmp_path))
    tmp_path.chmod(0o700)

    assert "it is this user's own, and its mode is 0550" in own
    assert f"it is of user {tmp_path.stat().st_uid}, and this process is of user 54321" in others


def test_what_comes_of_other_places_or_of_a_bug_is_not(database: Path, tmp_path: Path) -> None:
    elsewhere = PermissionError(errno.EACCES, "Permission denied", str(tmp_path / "other" / "file"))
    nameless = PermissionError(errno.EPERM, "Operation not permitted")
    full = OSError(errno.ENOSPC, "No space left on device", str(database))
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("PRAGMA query_only=ON")
        with pytest.raises(sqlite3.OperationalError) as bug:
            connection.execute("INSERT INTO t VALUES (1)")

    namesake = PermissionError(errno.EACCES, "Permission denied", str(tmp_path / "backups" / database.name))
    others = (elsewhere, namesake, nameless, full, bug.value)
    found = [told_unwritable(one, database.parent, database) for one in others]

    assert found == [None] * 5
    assert not may_be_unwritable(full)

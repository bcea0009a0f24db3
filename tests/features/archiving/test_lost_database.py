from __future__ import annotations

import os
import socket
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from mcp_agent_mail.core.store_owner import SWAP_FILE
from mcp_agent_mail.features.archiving.lost_database import DatabaseLost, RestoreUnfinished, require_database
from mcp_agent_mail.store.engine.sqlite.migrate import ForeignStore


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    archive = tmp_path / "projects" / "shop"
    archive.mkdir(parents=True)
    (archive / "archive.json").write_text("{}")
    return archive


def test_archives_without_a_database_are_refused_with_each_way_on(archive: Path, tmp_path: Path) -> None:
    with pytest.raises(DatabaseLost, match="there are archives") as refused:
        require_database(tmp_path, tmp_path / "mail.sqlite3")

    assert str(archive) in refused.value.message
    for way in ("am doctor rebuild", "am doctor restore", "DATABASE_URL", f"move {tmp_path}/projects away"):
        assert way in refused.value.hint


def test_an_archive_whose_files_lie_elsewhere_is_one_too(archive: Path, tmp_path: Path) -> None:
    (archive / "archive.json").unlink()
    (archive / ".git").mkdir()

    with pytest.raises(DatabaseLost):
        require_database(tmp_path, tmp_path / "mail.sqlite3")


def test_an_empty_file_is_no_database(archive: Path, tmp_path: Path) -> None:
    (tmp_path / "mail.sqlite3").touch()

    with pytest.raises(DatabaseLost, match=archive.name):
        require_database(tmp_path, tmp_path / "mail.sqlite3")


def test_a_store_that_has_not_begun_may_begin(tmp_path: Path) -> None:
    require_database(tmp_path, tmp_path / "mail.sqlite3")
    (tmp_path / "projects" / "notes").mkdir(parents=True)

    require_database(tmp_path, tmp_path / "mail.sqlite3")


@pytest.mark.usefixtures("archive")
def test_a_database_that_is_there_or_on_its_way_is_not_lost(tmp_path: Path) -> None:
    (tmp_path / SWAP_FILE).write_text("{}")
    require_database(tmp_path, tmp_path / "mail.sqlite3")
    (tmp_path / SWAP_FILE).unlink()
    (tmp_path / "mail.sqlite3").write_bytes(b"SQLite format 3\0")

    require_database(tmp_path, tmp_path / "mail.sqlite3")


def test_a_restore_that_was_killed_is_named_where_an_empty_store_would_be_begun(tmp_path: Path) -> None:
    (tmp_path / "restoring").mkdir()

    with pytest.raises(RestoreUnfinished, match="is not finished") as refused:
        require_database(tmp_path, tmp_path / "mail.sqlite3")

    assert "am archive restore" in refused.value.hint
    with closing(sqlite3.connect(tmp_path / "mail.sqlite3")) as connection:
        connection.execute("PRAGMA user_version = 1")
    require_database(tmp_path, tmp_path / "mail.sqlite3")


def _socket(path: Path) -> None:
    with closing(socket.socket(socket.AF_UNIX)) as bound:
        bound.bind(str(path))


def _ring(path: Path) -> None:
    path.symlink_to(path.name)


@pytest.mark.timeout(30)
@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo, _socket, _ring], ids=["folder", "pipe", "socket", "ring"])
def test_what_is_no_file_in_the_place_of_a_database_is_refused_before_a_store_begins(
    tmp_path: Path, make: Callable[[Path], object]
) -> None:
    place = tmp_path / "mail.sqlite3"
    make(place)

    with pytest.raises(ForeignStore, match="no SQLite database") as refused:
        require_database(tmp_path, place)

    assert str(place) in refused.value.message
    assert list(tmp_path.iterdir()) == [place]


def test_a_link_to_where_a_database_is_to_be_passes(tmp_path: Path) -> None:
    (tmp_path / "mail.sqlite3").symlink_to(tmp_path / "later.sqlite3")

    require_database(tmp_path, tmp_path / "mail.sqlite3")

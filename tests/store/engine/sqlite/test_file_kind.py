from __future__ import annotations

import os
import socket
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from mcp_agent_mail.store.engine.sqlite.file_kind import is_sqlite_file


def test_what_sqlite_has_written_is_a_database(tmp_path: Path) -> None:
    path = tmp_path / "any.sqlite3"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE anything (id)")

    assert is_sqlite_file(path)


@pytest.mark.parametrize("content", [b"", b"SQLite", bytes(4_096)], ids=["empty", "cut off", "overwritten"])
def test_an_empty_file_and_one_that_begins_otherwise_are_none(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "any.sqlite3"
    path.write_bytes(content)

    assert not is_sqlite_file(path)


def test_where_nothing_is_there_is_no_database(tmp_path: Path) -> None:
    assert not is_sqlite_file(tmp_path / "any.sqlite3")
    (tmp_path / "file").touch()
    assert not is_sqlite_file(tmp_path / "file" / "any.sqlite3")


@pytest.mark.timeout(30)
def test_a_pipe_a_device_and_a_socket_are_none_and_are_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with closing(socket.socket(socket.AF_UNIX)) as bound:
        bound.bind(str(tmp_path / "socket"))

        assert not any(is_sqlite_file(path) for path in (tmp_path / "pipe", tmp_path / "socket", Path("/dev/zero")))


def test_a_folder_and_a_ring_of_links_are_none(tmp_path: Path) -> None:
    (tmp_path / "ring").symlink_to("ring")

    assert not is_sqlite_file(tmp_path)
    assert not is_sqlite_file(tmp_path / "ring")

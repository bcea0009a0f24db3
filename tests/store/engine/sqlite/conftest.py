"""A database of one table."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "scratch.sqlite3"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("CREATE TABLE scratch (text TEXT)")
    return path


@pytest.fixture
def writing(path: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(path)) as writing:
        writing.execute("INSERT INTO scratch VALUES ('zebra')")
        writing.commit()
        yield writing

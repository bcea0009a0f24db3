"""A database of one table."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from mcp_agent_mail.store.engine.sqlite.long_reads import LongReads


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


@pytest.fixture
async def closed_reads(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[None]:
    """Closes what long reads a test has made, also one that failed: their threads would keep the process alive."""
    made: list[LongReads] = []
    make = LongReads.__init__

    def noted(self: LongReads, *given: object, **named: object) -> None:
        make(self, *given, **named)  # type: ignore[arg-type]  # as they come
        made.append(self)

    monkeypatch.setattr(LongReads, "__init__", noted)
    yield
    for reads in made:
        await reads.close()

from __future__ import annotations

import logging
import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Protocol

import pytest

from mcp_agent_mail.store.engine.sqlite.connection import (
    CountingConnection,
    open_reading,
    open_writing,
)
from mcp_agent_mail.store.engine.sqlite.faults import is_outside_fault


class Opener(Protocol):
    def __call__(self, path: Path, *, echo: bool = ..., counts: bool = ...) -> sqlite3.Connection: ...


_SQL_LOG = "mcp_agent_mail.store.sql"


def test_the_writing_connection_waits_for_the_disk_and_keeps_references_whole(tmp_path: Path) -> None:
    writing = open_writing(tmp_path / "scratch.sqlite3")

    pragmas = {name: writing.execute(f"PRAGMA {name}").fetchone()[0] for name in ("synchronous", "foreign_keys")}
    (journal_mode,) = writing.execute("PRAGMA journal_mode").fetchone()
    writing.close()

    assert pragmas == {"synchronous": 2, "foreign_keys": 1}
    assert journal_mode == "wal"


def test_what_a_unit_may_have_to_undo_needs_no_file_however_many_pages_it_changes(tmp_path: Path) -> None:
    with closing(open_writing(tmp_path / "scratch.sqlite3")) as writing:
        writing.execute("CREATE TABLE pages (id INTEGER PRIMARY KEY, content BLOB)")
        writing.executemany("INSERT INTO pages (content) VALUES (zeroblob(3000))", [()] * 200)
        writing.commit()

        writing.execute("BEGIN IMMEDIATE")
        writing.execute("SAVEPOINT unit")
        files_before = len(list(Path("/dev/fd").iterdir()))
        for number in range(1, 201):
            writing.execute("UPDATE pages SET content = randomblob(3000) WHERE id = ?", (number,))
        files = len(list(Path("/dev/fd").iterdir()))
        writing.execute("ROLLBACK TO unit")

        assert files == files_before
        assert writing.execute("SELECT count(*) FROM pages WHERE content <> zeroblob(3000)").fetchone() == (0,)


def test_the_log_is_carried_over_after_four_thousand_pages(tmp_path: Path) -> None:
    path = tmp_path / "scratch.sqlite3"
    with closing(open_writing(path)) as writing:
        writing.execute("CREATE TABLE pages (content BLOB)")
        writing.commit()
        (page_bytes,) = writing.execute("PRAGMA page_size").fetchone()
        carried = []
        for _ in range(8):
            writing.executemany("INSERT INTO pages VALUES (zeroblob(?))", [(page_bytes - 100,)] * 600)
            writing.commit()
            carried.append(path.stat().st_size > 600 * page_bytes)

    assert carried == [False] * 6 + [True] * 2


def test_a_reading_connection_is_doubly_kept_from_writing(tmp_path: Path) -> None:
    path = tmp_path / "scratch.sqlite3"
    with closing(open_writing(path)) as writing:
        writing.execute("CREATE TABLE scratch (text TEXT)")

    with closing(open_reading(path)) as reading:
        assert reading.execute("PRAGMA query_only").fetchone() == (1,)
        reading.execute("PRAGMA query_only=OFF")
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            reading.execute("INSERT INTO scratch VALUES ('x')")


def test_a_reading_connection_makes_no_file(tmp_path: Path) -> None:
    with pytest.raises(sqlite3.OperationalError, match="unable to open"):
        open_reading(tmp_path / "missing.sqlite3")

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("open_", [open_writing, open_reading])
@pytest.mark.parametrize(("echo", "counts"), [(False, False), (True, False), (False, True), (True, True)])
def test_a_connection_logs_and_counts_only_as_asked(
    open_: Opener, echo: bool, counts: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger=_SQL_LOG)
    path = tmp_path / "scratch.sqlite3"
    open_writing(path).close()

    with closing(open_(path, echo=echo, counts=counts)) as connection:
        before = connection.statements if isinstance(connection, CountingConnection) else None
        connection.execute("SELECT 41 + 1")

        counted = connection.statements if isinstance(connection, CountingConnection) else None

    assert any("SELECT 41 + 1" in line for line in caplog.messages) is echo
    assert (before is not None and counted == before + 1) is counts


def test_statements_are_logged_on_one_line_without_their_values(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger=_SQL_LOG)

    with closing(open_writing(tmp_path / "scratch.sqlite3", echo=True)) as writing:
        writing.execute("CREATE TABLE scratch (text TEXT)")
        writing.execute("INSERT INTO scratch\n    VALUES (?)", ("/secret/one",))
        writing.executemany("INSERT INTO scratch VALUES (?)", [("/secret/two",)])

    assert caplog.messages[-2:] == ["INSERT INTO scratch VALUES (?)"] * 2
    assert "/secret" not in caplog.text


def test_a_list_of_rows_is_one_statement_and_what_a_trigger_adds_is_none(tmp_path: Path) -> None:
    with closing(open_writing(tmp_path / "scratch.sqlite3", counts=True)) as connection:
        assert isinstance(connection, CountingConnection)
        connection.execute("CREATE TABLE scratch (number)")
        connection.execute("CREATE TABLE doubled (number)")
        connection.execute(
            "CREATE TRIGGER double AFTER INSERT ON scratch BEGIN INSERT INTO doubled VALUES (new.number * 2); END"
        )
        before = connection.statements

        connection.executemany("INSERT INTO scratch VALUES (?)", [(1,), (2,)])

        assert connection.statements == before + 1


def test_a_file_that_is_no_database_is_refused_and_left_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "scratch.sqlite3"
    path.write_bytes(b"no database " * 100)

    with pytest.raises(sqlite3.DatabaseError):
        open_writing(path)

    assert path.read_bytes() == b"no database " * 100


@pytest.mark.parametrize("open_", [open_writing, open_reading])
def test_every_connection_knows_the_functions_of_the_schema(open_: Opener, tmp_path: Path) -> None:
    path = tmp_path / "scratch.sqlite3"
    open_writing(path).close()

    with closing(open_(path)) as connection:
        found = connection.execute("SELECT search_text('\u672c\u8a9e'), identifiers_in('', 'calls parseToken')")

        assert found.fetchone()[0].split() == ["\u672c", "\u8a9e"]


@pytest.mark.timeout(30)
@pytest.mark.parametrize("open_", [open_writing, open_reading])
def test_a_pipe_is_refused_as_what_cannot_be_opened_and_is_not_waited_for(open_: Opener, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")

    with pytest.raises(sqlite3.OperationalError, match="no ordinary file") as refused:
        open_(tmp_path / "pipe")

    assert is_outside_fault(refused.value)

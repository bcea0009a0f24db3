"""How every connection to the store is opened: one set of pragmas for each use."""

from __future__ import annotations

import logging
import sqlite3
import stat
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.domain.search.identifiers import identifiers_in
from mcp_agent_mail.domain.search.query import spaced_out
from mcp_agent_mail.store.engine.port import Connection

WRITER_BUSY_S = 5.0
READER_BUSY_S = 1.0
_CACHED_STATEMENTS = 256
_WAL_KEPT_BYTES = 64 * 1024 * 1024
_WRITER_CACHE_KIB = 16 * 1024
"""SQLite's default of 2 MiB forgets the full-text index between two sends: a unit then took a quarter longer."""
_CHECKPOINT_PAGES = 4_000
"""Committed pages before the log is carried over into the database, with two waits for the disk. As many as one table
of the log's index has room for, so that readers look as few up as with SQLite's default of 1,000.
"""

_sql_log = logging.getLogger("mcp_agent_mail.store.sql")


class EchoingConnection(sqlite3.Connection):
    """Logs the text of every statement and never its values (SQLite's own trace would show them)."""

    def _echo(self, sql: str) -> None:
        _sql_log.info("%s", " ".join(sql.split()))

    # `Any` as in the class it stands in for.
    def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:  # noqa: ANN401
        self._echo(sql)
        return super().execute(sql, parameters)

    def executemany(self, sql: str, parameters: Iterable[Any], /) -> sqlite3.Cursor:
        self._echo(sql)
        return super().executemany(sql, parameters)


class CountingConnection(sqlite3.Connection):
    """Counts its statements, those that a trigger adds left out."""

    statements = 0

    # `Any` as in the class it stands in for.
    def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:  # noqa: ANN401
        self.statements += 1
        return super().execute(sql, parameters)

    def executemany(self, sql: str, parameters: Iterable[Any], /) -> sqlite3.Cursor:
        self.statements += 1
        return super().executemany(sql, parameters)


class CountingEcho(CountingConnection, EchoingConnection):
    """Counts its statements and logs their text."""


def _factory(*, echo: bool, counts: bool) -> type[sqlite3.Connection]:
    if counts:
        return CountingEcho if echo else CountingConnection
    return EchoingConnection if echo else sqlite3.Connection


def open_writing(path: Path, *, echo: bool = False, counts: bool = False) -> sqlite3.Connection:
    """The one writing connection. `synchronous=FULL` makes COMMIT wait for the disk; group commit makes that cheap.

    Transactions are written out. `isolation_level` is a net below them: SQLite may end a transaction
    by itself (disk full), and a unit of work that did not notice would then write each further
    statement for good, one by one. With it, such a statement opens a transaction that nobody commits.
    """
    _require_ordinary(path)
    connection = sqlite3.connect(
        path,
        timeout=WRITER_BUSY_S,
        isolation_level="IMMEDIATE",
        check_same_thread=False,
        cached_statements=_CACHED_STATEMENTS,
        factory=_factory(echo=echo, counts=counts),
    )
    try:
        connection.execute("PRAGMA journal_mode=WAL")
        # Touching the log now lets this connection clear it away at the end, even if it never writes.
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("PRAGMA foreign_keys=ON")
        connection.execute(f"PRAGMA journal_size_limit={_WAL_KEPT_BYTES}")
        connection.execute(f"PRAGMA cache_size=-{_WRITER_CACHE_KIB}")
        connection.execute(f"PRAGMA wal_autocheckpoint={_CHECKPOINT_PAGES}")
        # Each unit has a savepoint: what its pages held before it goes to a temporary file as soon as they are over
        # 64 KiB. One send is that many. In memory it is let go with the savepoint.
        connection.execute("PRAGMA temp_store=MEMORY")
        add_functions(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def open_reading(path: Path, *, echo: bool = False, counts: bool = False) -> sqlite3.Connection:
    """A connection that cannot write: SQLite itself refuses."""
    _require_ordinary(path)
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=ro",
        uri=True,
        timeout=READER_BUSY_S,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=_CACHED_STATEMENTS,
        factory=_factory(echo=echo, counts=counts),
    )
    try:
        connection.execute("PRAGMA query_only=ON")
        add_functions(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _require_ordinary(path: Path) -> None:
    """Raise OperationalError, as SQLite does of a folder: for a FIFO's other end it would wait for ever."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return  # SQLite says what it is.
    if not stat.S_ISREG(mode):
        unfit = sqlite3.OperationalError(f"unable to open database file: {path} is no ordinary file")
        unfit.sqlite_errorcode = sqlite3.SQLITE_CANTOPEN
        raise unfit


def tell_time(connection: Connection, now: Callable[[], Micros]) -> None:
    """Queries over the connection take what `now` gives for the time (`unit_now()`): that of the read or unit that
    runs.
    """
    assert isinstance(connection, sqlite3.Connection)
    connection.create_function("unit_now", 0, now)


def add_functions(connection: sqlite3.Connection) -> None:
    """The functions that the schema calls: `search_text` stands in the full-text index's trigger and view,
    `identifiers_in` in the trigger that keeps the names of code.
    """
    connection.execute("PRAGMA trusted_schema=ON")
    connection.create_function("search_text", 1, spaced_out, deterministic=True)
    connection.create_function("identifiers_in", 2, identifiers_in, deterministic=True)

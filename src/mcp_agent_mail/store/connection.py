"""How every connection to the store is opened: one set of pragmas for each use."""

from __future__ import annotations

import sqlite3
from pathlib import Path

BUSY_TIMEOUT_S = 5.0
_CACHED_STATEMENTS = 256


def open_writing(path: Path) -> sqlite3.Connection:
    """The one writing connection. Autocommit mode: transactions are written out, never implied.

    `synchronous=FULL` makes COMMIT wait for the disk; group commit makes that cheap.
    """
    connection = sqlite3.connect(
        path,
        timeout=BUSY_TIMEOUT_S,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=_CACHED_STATEMENTS,
    )
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("PRAGMA foreign_keys=ON")
    return connection


def open_reading(path: Path) -> sqlite3.Connection:
    """A connection that cannot write: SQLite itself refuses."""
    connection = sqlite3.connect(
        f"{path.absolute().as_uri()}?mode=ro",
        uri=True,
        timeout=BUSY_TIMEOUT_S,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=_CACHED_STATEMENTS,
    )
    connection.execute("PRAGMA query_only=ON")
    return connection

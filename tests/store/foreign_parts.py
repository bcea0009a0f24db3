"""A stranger's parts in a store's database, for whoever reads one: that they have run is seen at once."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path


def put_view(database: Path, table: str) -> None:
    """In the place of `table`: who reads it gets SQLite's error."""
    change(
        database,
        f"ALTER TABLE {table} RENAME TO {table}_before",
        f"CREATE VIEW {table} AS SELECT * FROM {table}_before WHERE abs(-9223372036854775807 - 1) > 0",
    )


def put_check(database: Path, table: str) -> None:
    """Into the definition of `table`, which is plain: who has SQLite look through its rows gets SQLite's error."""
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        (text,) = connection.execute("SELECT sql FROM sqlite_schema WHERE name = ?", (table,)).fetchone()
        end = text.rindex(")")
        spoilt = f"{text[:end]}, CHECK (abs(-9223372036854775807 - 1) > 0){text[end:]}"
        connection.execute("UPDATE sqlite_schema SET sql = ? WHERE name = ?", (spoilt, table))
        connection.commit()


def change(database: Path, *statements: str) -> None:
    with closing(sqlite3.connect(database, isolation_level=None)) as connection:
        # Views and triggers of the schema name functions that this connection has not.
        connection.execute("PRAGMA legacy_alter_table = ON")
        for statement in statements:
            connection.execute(statement)

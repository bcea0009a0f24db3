"""Changes of mail that nobody is told of: history that comes in is no news, however much of it there is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from mcp_agent_mail.store.engine.port import Connection

_NOTED = ("mail_changes", "copy_changes", "oversight_changes")
_IS_THERE = "SELECT 1 FROM temp.sqlite_schema WHERE type = 'table' AND name = ?"


@contextmanager
def unnoticed(connection: Connection) -> Iterator[None]:
    """What the block changes of mail, its copies and feeds wakes nobody. What the transaction had changed before it,
    it still tells of.
    """
    kept = {table: _rows(connection, table) for table in _NOTED if connection.execute(_IS_THERE, (table,)).fetchone()}
    yield
    for table, rows in kept.items():
        connection.execute(f"DELETE FROM temp.{table}")
        if rows:
            places = ", ".join("?" * len(rows[0]))
            connection.executemany(f"INSERT INTO temp.{table} VALUES ({places})", rows)


def _rows(connection: Connection, table: str) -> list[tuple[object, ...]]:
    """Of one transaction: a group of units is bounded."""
    return connection.execute(f"SELECT * FROM temp.{table}").fetchall()

"""Rows of a store of today, put into the tables of an older one."""

from __future__ import annotations

import sqlite3


def copy_rows(connection: sqlite3.Connection, table: str) -> None:
    """From the attached `room`, as far as the older table has a column for it."""
    columns = ", ".join(name for _, name, *_ in connection.execute(f"PRAGMA main.table_info({table})"))
    connection.execute(f"INSERT INTO {table} ({columns}) SELECT {columns} FROM room.{table}")

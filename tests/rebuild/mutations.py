"""Each column of each table that is declared, with one value of it changed."""

from __future__ import annotations

import importlib
import pkgutil
import random
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from sqlalchemy import CheckConstraint, Column
from sqlmodel import SQLModel

from mcp_agent_mail.store import tables
from mcp_agent_mail.store.engine.sqlite.connection import open_writing

_LISTED = re.compile(r"(\w+) IN \((.*)\)")
_A_TIME = 1_800_000_000_123_456
_FAR = 100_000_000_007
"""More than a day in microseconds, and beyond all ids."""


# Columns of whatever type.
def columns() -> Iterator[Column[Any]]:
    for module in pkgutil.iter_modules(tables.__path__):
        importlib.import_module(f"{tables.__name__}.{module.name}")
    for table in SQLModel.metadata.sorted_tables:
        yield from table.columns


# Likewise.
def change_one(database: Path, column: Column[Any], chance: random.Random) -> bool:
    """Change one value of the column, whatever hangs on it; False where no row has one that can be changed."""
    table = column.table
    keys = [key.name for key in table.primary_key.columns]
    with closing(open_writing(database)) as connection:
        connection.execute("PRAGMA foreign_keys = off")
        connection.execute("PRAGMA ignore_check_constraints = on")
        rows = connection.execute(f"SELECT {column.name}, {', '.join(keys)} FROM {table.name}").fetchall()
        chance.shuffle(rows)
        where = " AND ".join(f"{key} = ?" for key in keys)
        for value, *key in rows:
            try:
                connection.execute(
                    f"UPDATE {table.name} SET {column.name} = ? WHERE {where}", (_another(column, value), *key)
                )
            except sqlite3.IntegrityError:
                continue
            connection.commit()
            return True
    return False


# A value as SQLite has it.
def _another(column: Column[Any], value: Any) -> Any:
    listed = _listed(column)
    if listed:
        return next(other for other in listed if str(other) != str(value))
    if isinstance(value, bytes):
        return bytes([value[0] ^ 1]) + value[1:]
    if value is None:
        return _A_TIME if column.name.endswith("_ts") else 1 if "INT" in str(column.type) else "x"
    return f"{value}x" if isinstance(value, str) else value + _FAR


# Likewise.
def _listed(column: Column[Any]) -> list[Any]:
    """The values that a check lets the column have."""
    for constraint in column.table.constraints:
        found = _LISTED.fullmatch(str(constraint.sqltext)) if isinstance(constraint, CheckConstraint) else None
        if found is not None and found[1] == column.name:
            values = [value.strip() for value in found[2].split(",")]
            return [value.strip("'") if value.startswith("'") else int(value) for value in values]
    return []

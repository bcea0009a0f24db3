"""What a program that was killed leaves beside its database, where the database itself is gone."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory


def write_hot_journal(database: Path) -> Path:
    """A journal beside the place of `database` that SQLite plays back into whatever database lies there."""
    journal = database.with_name(f"{database.name}-journal")
    with TemporaryDirectory() as folder:
        other = Path(folder) / "other"
        with closing(sqlite3.connect(other, isolation_level=None)) as connection:
            connection.executescript("PRAGMA page_size=2048; PRAGMA cache_size=1; CREATE TABLE t (x)")
            connection.executemany("INSERT INTO t VALUES (?)", [("x" * 1_000,)] * 100)
            connection.execute("BEGIN")
            connection.execute("UPDATE t SET x = ?", ("y" * 1_000,))
            shutil.copyfile(f"{other}-journal", journal)
    return journal

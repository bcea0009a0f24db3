"""Reads a database whose layout is only half known: columns that are missing read as None, others are left alone.

It is a stranger's: nothing that it defines is run. Views, virtual tables and computed columns count as not there.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Self
from urllib.parse import quote

from mcp_agent_mail.domain.importing.refusals import unreadable
from mcp_agent_mail.store.foreign.private_copy import copy_privately, require_foreign_database
from mcp_agent_mail.store.foreign.private_folder import private_folder

LONGEST_VALUE = 64 << 20
"""Bytes of one text or blob; a row with a longer one cannot be read."""

MOST_WAIT_S = 300.0
"""For the next row of a statement, or its end: a stranger's file may be made so that one takes for ever."""

_STEPS_AT_ONCE = 100_000
_READ_AS = "read_for_import"
_MOST_TABLES = 1_000
_MOST_COLUMNS = 200
_ROWS_AT_ONCE = 200

ForeignValue = str | bytes | int | float | None
ForeignRow = tuple[ForeignValue, ...]


class ForeignDatabase:
    """Tables and columns by name, ignoring letter case. `mended` counts texts that were no UTF-8."""

    def __init__(self, connection: sqlite3.Connection, path: Path, *, most_wait_s: float = MOST_WAIT_S) -> None:
        self._connection = connection
        self._most_wait_s = most_wait_s
        self._path = path
        self._columns: dict[str, dict[str, str]] = {}
        self._names: dict[str, str] = {}
        self.mended = 0
        self._until = 0.0
        connection.text_factory = self._text
        connection.set_progress_handler(self._is_late, _STEPS_AT_ONCE)
        with self._told():
            self._learn()

    @property
    def tables(self) -> Mapping[str, Mapping[str, str]]:
        """By their names in small letters: columns, likewise, with the name that each has in the source."""
        return self._columns

    def rows(
        self,
        table: str,
        columns: Sequence[str],
        *,
        order: Sequence[str] = (),
        where: Mapping[str, ForeignValue] | None = None,
        read_as: Callable[[ForeignValue], int | None] | None = None,
    ) -> Iterator[ForeignRow]:
        """Those of `columns` that are not there are None in each row; a table that is not there has no rows.

        `order` names columns, of which the missing are passed over; last comes the order in which rows were added. They
        are compared as they stand, or by what `read_as` makes of them; what it makes None of comes last.
        Raises SourceUnreadable, also in the midst.
        """
        known = self._columns.get(table)
        if known is None or any(column not in known for column in where or {}):
            return
        shown = ", ".join(_quoted(known[column]) if column in known else "NULL" for column in columns)
        chosen = " AND ".join(f"{_quoted(known[column])} IS ?" for column in where or {})
        statement = f"SELECT {shown} FROM {_quoted(self._names[table])}"
        if chosen:
            statement += f" WHERE {chosen}"
        if ordered := self._ordered(table, [known[column] for column in order if column in known], read_as):
            statement += f" ORDER BY {', '.join(ordered)}"
        with self._told():
            cursor = self._connection.execute(statement, tuple((where or {}).values()))
            while found := cursor.fetchmany(_ROWS_AT_ONCE):
                yield from found
                self._begin()

    def first(self, table: str, columns: Sequence[str], where: Mapping[str, ForeignValue]) -> ForeignRow | None:
        """Of the rows that fit, the one that was added first."""
        return next(self.rows(table, columns, where=where), None)

    def count(self, table: str) -> int:
        """Rows; 0 of a table that is not there."""
        if table not in self._columns:
            return 0
        with self._told():
            (count,) = self._connection.execute(f"SELECT count(*) FROM {_quoted(self._names[table])}").fetchone()
        return int(count)

    def count_lost(self, table: str, column: str, other: str, key: str) -> int:
        """Rows of a table that name by `column` a row of `other` that is not there."""
        known, named = self._columns.get(table, {}), self._columns.get(other, {})
        if column not in known or key not in named:
            return 0
        own, theirs = f"one.{_quoted(known[column])}", f"two.{_quoted(named[key])}"
        statement = (
            f"SELECT count(*) FROM {_quoted(self._names[table])} AS one WHERE NOT EXISTS "
            f"(SELECT 1 FROM {_quoted(self._names[other])} AS two WHERE {theirs} = {own})"
        )
        with self._told():
            (count,) = self._connection.execute(statement).fetchone()
        return int(count)

    def add_index(self, table: str, columns: Sequence[str]) -> None:
        """In the copy, so that rows are found by these columns at once, whatever indexes the source has."""
        known = self._columns.get(table, {})
        if not all(column in known for column in columns):
            return
        name = _quoted(f"for_import_{table}_{'_'.join(columns)}")
        listed = ", ".join(_quoted(known[column]) for column in columns)
        with self._told():
            self._connection.execute(f"CREATE INDEX IF NOT EXISTS {name} ON {_quoted(self._names[table])} ({listed})")

    def close(self) -> None:
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _learn(self) -> None:
        self._require_sound("sqlite_schema")
        found = self._connection.execute(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0 AND sql LIKE 'CREATE TABLE%'"
            " ORDER BY rowid LIMIT ?",
            (_MOST_TABLES,),
        ).fetchall()
        for (name,) in found:
            key = str(name).lower()
            listed = self._connection.execute(f"PRAGMA table_xinfo({_quoted(str(name))})").fetchmany(_MOST_COLUMNS)
            plain = [str(column[1]) for column in listed if not column[6]]
            if len(plain) == len(listed):
                self._require_sound(str(name))
            self._names[key] = str(name)
            self._columns[key] = {column.lower(): column for column in plain}

    def _require_sound(self, table: str) -> None:
        """Not of one with computed columns: the check would compute them. Its damage shows when it is read."""
        self._begin()
        damage = self._connection.execute(f"PRAGMA quick_check({_quoted(table)})").fetchone()
        if damage is None or damage[0] != "ok":
            raise unreadable(self._path, f"the database is damaged ({str(damage and damage[0])[:120]})")

    def _ordered(
        self, table: str, columns: Sequence[str], read_as: Callable[[ForeignValue], int | None] | None
    ) -> list[str]:
        ordered = [_quoted(column) for column in columns]
        if read_as is not None:
            self._connection.create_function(_READ_AS, 1, read_as, deterministic=True)
            ordered = [f"{_READ_AS}({column}) NULLS LAST" for column in ordered]
        last = self._last_order(table)
        return ordered if last is None else [*ordered, last]

    def _last_order(self, table: str) -> str | None:
        """None for a table without row numbers, which has its key for an order."""
        for word in ("rowid", "_rowid_", "oid"):
            if word in self._columns[table]:
                continue
            try:
                self._connection.execute(f"SELECT {word} FROM {_quoted(self._names[table])} LIMIT 0")
            except sqlite3.OperationalError:
                return None
            return word
        return None

    def _begin(self) -> None:
        self._until = time.monotonic() + self._most_wait_s

    def _is_late(self) -> bool:
        """With it SQLite gives up."""
        return time.monotonic() > self._until

    def _text(self, content: bytes) -> str:
        try:
            return content.decode()
        except UnicodeDecodeError:
            self.mended += 1
            return content.decode(errors="replace")

    @contextmanager
    def _told(self) -> Iterator[None]:
        self._begin()
        try:
            yield
        except (sqlite3.Error, OverflowError) as failed:
            if self._is_late():
                raise unreadable(
                    self._path, f"SQLite needs more than {self._most_wait_s:g} s for one step of it"
                ) from failed
            raise unreadable(self._path, f"SQLite says: {failed}") from failed


@contextmanager
def open_private_copy(source: Path, *, most_wait_s: float = MOST_WAIT_S) -> Iterator[ForeignDatabase]:
    """Copies first, into a private folder that is gone at the end. For use from one thread at a time. Raises
    SourceUnreadable for what is no database, and as `copy_privately` does.
    """
    require_foreign_database(source)
    with private_folder() as folder:
        copy = copy_privately(source, folder)
        try:
            connection = _connect(copy)
        except sqlite3.Error as failed:
            raise unreadable(source, f"SQLite says: {failed}") from failed
        try:
            yield ForeignDatabase(connection, source, most_wait_s=most_wait_s)
        finally:
            connection.close()


_SAFELY = ("trusted_schema=OFF", "ignore_check_constraints=ON")
"""Nothing that the file defines is run: a look for damage would judge each row by its checks."""


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"file:{quote(str(path))}?mode=rw", uri=True, isolation_level=None, check_same_thread=False
    )
    try:
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_VALUE)
        connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
        for pragma in (*_SAFELY, "cell_size_check=ON", "synchronous=OFF", "temp_store=FILE"):
            connection.execute(f"PRAGMA {pragma}")
    except BaseException:
        connection.close()
        raise
    return connection


def _quoted(name: str) -> str:
    """As an identifier that no text in it can end."""
    return '"' + name.replace('"', '""') + '"'

"""What a reader has to know of all messages of a source before it gives the first: on disk, in a private folder."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.store.foreign.private_folder import private_folder

_SCHEMA = """
    CREATE TABLE archived (
        key TEXT PRIMARY KEY, number INTEGER NOT NULL, created_ts INTEGER NOT NULL, slug TEXT NOT NULL,
        path TEXT NOT NULL) WITHOUT ROWID;
    CREATE INDEX archived_order ON archived (created_ts, number, key);
    CREATE INDEX archived_number ON archived (number, created_ts);
    CREATE TABLE likely (
        sender TEXT NOT NULL, digest BLOB NOT NULL, created_ts INTEGER NOT NULL, number INTEGER NOT NULL,
        project TEXT NOT NULL, PRIMARY KEY (sender, digest, created_ts, number)) WITHOUT ROWID;
    CREATE TABLE joined (number INTEGER PRIMARY KEY, first INTEGER NOT NULL);
    CREATE INDEX joined_first ON joined (first, number);
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedPlace:
    """A message's file. `path` is below the project's folder."""

    key: str
    number: int
    created_ts: Micros
    slug: str
    path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchingRow:
    """A row that may be one of several of one mail: `digest` is the same of all of them."""

    sender: str
    digest: bytes
    created_ts: Micros
    number: int
    project: str


class MailIndex:
    """Of one reading; gone with it."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def add_archived(self, place: ArchivedPlace) -> bool:
        """False where the key is there: the same message in another file."""
        row = (place.key, place.number, place.created_ts, place.slug, place.path)
        return self._connection.execute("INSERT OR IGNORE INTO archived VALUES (?, ?, ?, ?, ?)", row).rowcount == 1

    def archived(self) -> Iterator[ArchivedPlace]:
        """The oldest first."""
        found = self._connection.execute(
            "SELECT key, number, created_ts, slug, path FROM archived ORDER BY created_ts, number, key"
        )
        for key, number, created_ts, slug, path in found:
            yield ArchivedPlace(key=key, number=number, created_ts=created_ts, slug=slug, path=path)

    def find_archived(self, number: int, *, before: Micros) -> str | None:
        """The key of the newest of this number that is older."""
        found = self._connection.execute(
            "SELECT key FROM archived WHERE number = ? AND created_ts < ? ORDER BY created_ts DESC, key LIMIT 1",
            (number, before),
        ).fetchone()
        return None if found is None else str(found[0])

    def add_likely(self, row: MatchingRow) -> None:
        """A second time it is nothing new."""
        self._connection.execute(
            "INSERT OR IGNORE INTO likely VALUES (?, ?, ?, ?, ?)",
            (row.sender, row.digest, row.created_ts, row.number, row.project),
        )

    def likely(self) -> Iterator[MatchingRow]:
        """Those of one digest one after the other, the oldest first."""
        found = self._connection.execute(
            "SELECT sender, digest, created_ts, number, project FROM likely ORDER BY sender, digest, created_ts, number"
        )
        for sender, digest, created_ts, number, project in found:
            yield MatchingRow(sender=sender, digest=digest, created_ts=created_ts, number=number, project=project)

    def join(self, numbers: list[int]) -> None:
        """These are one mail; the lowest number stands for all."""
        first = min(numbers)
        self._connection.executemany("INSERT OR IGNORE INTO joined VALUES (?, ?)", [(one, first) for one in numbers])

    def rows_of_mail(self, number: int) -> list[int]:
        """The numbers of the mail that this row belongs to, ascending; itself alone where it was joined to none."""
        found = self._connection.execute(
            "SELECT number FROM joined WHERE first = (SELECT first FROM joined WHERE number = ?) ORDER BY number",
            (number,),
        ).fetchall()
        return [int(one) for (one,) in found] or [number]


@contextmanager
def open_mail_index() -> Iterator[MailIndex]:
    """Raises SQLite's error where the disk of temporary files is full."""
    with private_folder() as folder:
        connection = sqlite3.connect(folder / "index.sqlite3", isolation_level=None, check_same_thread=False)
        try:
            for pragma in ("journal_mode=OFF", "synchronous=OFF"):
                connection.execute(f"PRAGMA {pragma}")
            connection.executescript(_SCHEMA)
            connection.execute("BEGIN")
            yield MailIndex(connection)
        finally:
            connection.close()

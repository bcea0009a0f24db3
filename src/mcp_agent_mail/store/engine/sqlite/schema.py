"""Is a database's schema the one that the migrations make, and nothing beside it? A stranger's trigger would run with
every send.

What SQLite reads is the text of each definition, whatever name and kind stand beside it, so all three are compared.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections import Counter
from collections.abc import Collection, Iterable
from contextlib import closing
from functools import cache
from pathlib import Path

from mcp_agent_mail.core.failpoints import no_fault
from mcp_agent_mail.store.engine.sqlite.connection import add_functions, open_reading
from mcp_agent_mail.store.engine.sqlite.faults import WAYS_BACK, is_damage
from mcp_agent_mail.store.engine.sqlite.migrate import (
    ForeignStore,
    StoreRefused,
    apply_migration,
    require_known,
    require_ours,
    shipped_migrations,
)

FTS_INDEXES = ("messages_fts", "identifiers_fts")

NEWEST_VERSION = 28
NEWEST_SHA256 = "98a27440e65737c4d1394a576bdf4db67dec7221bce85b5e2ba4abacf7671cb8"
"""Of what all migrations make: a database that has it need not be compared with that, which is made in 0.1 s. Another
SQLite may spell a definition otherwise; it is compared then."""

_SCHEMA = """
    SELECT CAST(type AS BLOB), CAST(name AS BLOB), CAST(sql AS BLOB) FROM sqlite_schema ORDER BY type, name, sql
"""
_SHOWN = 3
_ADDED = "is not of this program"
_Definition = tuple[str, str, str]

# What ANALYZE makes, to the letter: it may be there or not. All else of SQLite's own a fresh database has as well.
_STATISTICS: frozenset[_Definition] = frozenset(
    {
        ("table", "sqlite_stat1", "CREATE TABLE sqlite_stat1(tbl,idx,stat)"),
        ("table", "sqlite_stat4", "CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)"),
    }
)


class ForeignParts(StoreRefused):
    """The database has parts that are not this program's, or lacks some."""


def require_own_schema(path: Path) -> None:
    """Raise ForeignParts where the database at `path` has another schema than this program makes, and NewerStore where
    that cannot be told. Raises ForeignStore, and SQLite's error for a database that is damaged. Reads the schema alone.
    """
    open_own(path).close()


def has_own_schema(path: Path) -> bool:
    """False for a database that is lost, damaged or another program's. Raises ForeignParts and NewerStore."""
    try:
        require_own_schema(path)
    except (OSError, sqlite3.Error, ForeignStore):
        return False
    return True


def sqlite_version() -> str:
    """Of the library that this process runs with."""
    return sqlite3.sqlite_version


def open_own(path: Path) -> sqlite3.Connection:
    """As `open_reading`, with no transaction begun: for a database that nobody has vouched for yet. Raises as
    `require_own_schema` does, before anything that the database itself defines has run.
    """
    require_ours(path)
    connection = open_reading(path)
    try:
        require_known(path, _version(connection))
        if changed := changed_parts(connection):
            raise _foreign(path, changed)
    except BaseException:
        connection.close()
        raise
    return connection


def require_own_tables(connection: sqlite3.Connection, path: Path, tables: Collection[str]) -> None:
    """Raise ForeignParts unless `tables` are what this program makes, whatever stands beside them: for who reads
    nothing else, of a newer version's database too.
    """
    version, found = _version(connection), frozenset(_definitions(connection))
    wanted = {name: one for one in _made_up_to(_known(version)) if (name := one[1]) in tables}
    if changed := sorted(table for table in tables if wanted.get(table) not in found):
        raise _foreign(path, [f"{name} differs (schema {version})" for name in changed])


def _foreign(path: Path, changed: list[str]) -> ForeignParts:
    return ForeignParts(
        f"{path} is not used: its schema is not the one that this program makes. {in_a_sentence(changed)}",
        hint=f"{_ways_on(changed)} Both keep the present database.",
        data={"path": str(path), "changed": changed[:_SHOWN]},
    )


def _ways_on(changed: list[str]) -> str:
    if not any(_ADDED in one for one in changed):
        return WAYS_BACK  # What is missing, or differs, nobody mends by hand.
    return (
        "Take out with sqlite3 what you have added yourself (DROP TRIGGER, DROP INDEX, DROP TABLE). Otherwise "
        f"{WAYS_BACK[0].lower()}{WAYS_BACK[1:]}"
    )


def changes_of(path: Path) -> list[str]:
    """As `changed_parts`, of the database at `path`; of a newer version's nothing can be said. Raises ForeignStore."""
    try:
        return _changes_of(path)
    except sqlite3.DatabaseError as unreadable:
        if not is_damage(unreadable):
            raise
        return [f"SQLite cannot read it ({unreadable})"]


def _changes_of(path: Path) -> list[str]:
    require_ours(path)
    with closing(open_reading(path)) as connection:
        return changed_parts(connection) if _version(connection) <= NEWEST_VERSION else []


def _version(connection: sqlite3.Connection) -> int:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return int(version)


def in_a_sentence(changed: list[str]) -> str:
    """As a sentence."""
    return f"{'; '.join(changed[:_SHOWN])}{f'; and {len(changed) - _SHOWN} more' if len(changed) > _SHOWN else ''}."


def changed_parts(connection: sqlite3.Connection) -> list[str]:
    """What the migrations up to the database's own version make, against what is there; nothing where it is equal."""
    version = _version(connection)
    found = _definitions(connection)
    if version == NEWEST_VERSION and digest_of(found) == NEWEST_SHA256:
        return []
    wanted = _made_up_to(_known(version))
    more, less = Counter(found) - Counter(wanted), Counter(wanted) - Counter(found)
    there, needed = {name for _, name, _ in more}, {name for _, name, _ in less}
    known = {name for _, name, _ in wanted}
    return [
        f"{name} {'is missing' if name not in there else 'differs' if name in known else _ADDED} (schema {version})"
        for name in sorted(there | needed)
    ]


def _known(version: int) -> int:
    return max(0, min(version, NEWEST_VERSION))


@cache
def _made_up_to(version: int) -> tuple[_Definition, ...]:
    """By the migrations up to `version`, on the SQLite that runs here."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as fresh:
        add_functions(fresh)
        for migration in shipped_migrations()[:version]:
            apply_migration(fresh, migration, no_fault)
        return tuple(_definitions(fresh))


def digest_of(definitions: Iterable[_Definition]) -> str:
    """Of definitions in their order."""
    return hashlib.sha256(repr(list(definitions)).encode("utf-8", "surrogatepass")).hexdigest()


def _definitions(connection: sqlite3.Connection) -> list[_Definition]:
    """Without those that have no text: the indexes that belong to a table's own definition."""
    try:
        found = connection.execute(_SCHEMA).fetchall()
    except UnicodeDecodeError as no_text:
        # What SQLite says of it has bytes of it in it.
        damaged = sqlite3.DatabaseError("its schema is no text")
        damaged.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
        raise damaged from no_text
    rows = ((_text(kind), _text(name), _text(sql)) for kind, name, sql in found if sql)
    return [row for row in rows if row not in _STATISTICS]


def _text(content: bytes | None) -> str:
    return (content or b"").decode("utf-8", "backslashreplace")

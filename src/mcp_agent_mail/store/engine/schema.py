"""Is a database's schema the one that the migrations make, and nothing beside it? A stranger's trigger would run with
every send.

What SQLite reads is the text of each definition, whatever name and kind stand beside it, so all three are compared.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections import Counter
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

from mcp_agent_mail.core.failpoints import no_fault
from mcp_agent_mail.store.engine.connection import add_functions, open_reading
from mcp_agent_mail.store.engine.faults import WAYS_BACK, is_damage
from mcp_agent_mail.store.engine.migrate import StoreRefused, apply_migration, require_ours, shipped_migrations

FTS_INDEXES = ("messages_fts", "identifiers_fts")

NEWEST_VERSION = 19
NEWEST_SHA256 = "323bb61fd0c7496a88a57b2c1de023afda07de1e952343d2008b0815cf8ec1d7"
"""Of what all migrations make: a database that has it need not be compared with that, which is made in 0.1 s. Another
SQLite may spell a definition otherwise; it is compared then."""

_SCHEMA = "SELECT type, name, coalesce(sql, '') FROM sqlite_schema ORDER BY type, name, sql"
_SHOWN = 3
_ADDED = "is not of this program"
# SQLite makes these for itself, in its own words: what begins so is a table, whatever stands beside it.
_OWN_TABLES = tuple(
    f"CREATE TABLE '{index}_{part}'("
    for index in FTS_INDEXES
    for part in ("config", "content", "data", "docsize", "idx")
)
_OWN = ("CREATE TABLE sqlite_sequence(", "CREATE TABLE sqlite_stat1(", "CREATE TABLE sqlite_stat4(", *_OWN_TABLES)

_Definition = tuple[str, str, str]


class ForeignParts(StoreRefused):
    """The database has parts that are not this program's, or lacks some."""


def require_own_schema(path: Path) -> None:
    """Raise ForeignParts where the database at `path` has another schema than this program makes; its version is asked
    by others. Raises ForeignStore, and SQLite's error for a database that is damaged. Reads the schema alone.
    """
    if changed := _changes_of(path):
        raise ForeignParts(
            f"{path} is not used: its schema is not the one that this program makes. {in_a_sentence(changed)}",
            hint=f"{_take_out(changed)}{WAYS_BACK} Both keep it.",
            data={"path": str(path), "changed": changed[:_SHOWN]},
        )


def _take_out(changed: list[str]) -> str:
    if not any(_ADDED in one for one in changed):
        return ""  # What is missing, or differs, nobody mends by hand.
    return "What you have added yourself, take out with sqlite3 (DROP TRIGGER, DROP INDEX, DROP TABLE). Else: "


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
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        return changed_parts(connection) if version <= NEWEST_VERSION else []


def in_a_sentence(changed: list[str]) -> str:
    """As a sentence."""
    return f"{'; '.join(changed[:_SHOWN])}{f'; and {len(changed) - _SHOWN} more' if len(changed) > _SHOWN else ''}."


def changed_parts(connection: sqlite3.Connection) -> list[str]:
    """What the migrations up to the database's own version make, against what is there; nothing where it is equal."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    found = _definitions(connection)
    if version == NEWEST_VERSION and digest_of(found) == NEWEST_SHA256:
        return []
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as fresh:
        add_functions(fresh)
        for migration in shipped_migrations()[:version]:
            apply_migration(fresh, migration, no_fault)
        wanted = _definitions(fresh)
    more, less = Counter(found) - Counter(wanted), Counter(wanted) - Counter(found)
    there, needed = {name for _, name, _ in more}, {name for _, name, _ in less}
    known = {name for _, name, _ in wanted}
    return [
        f"{name} {'is missing' if name not in there else 'differs' if name in known else _ADDED} (schema {version})"
        for name in sorted(there | needed)
    ]


def digest_of(definitions: Iterable[_Definition]) -> str:
    """Of definitions in their order."""
    return hashlib.sha256(repr(list(definitions)).encode("utf-8", "surrogatepass")).hexdigest()


def _definitions(connection: sqlite3.Connection) -> list[_Definition]:
    """Without those that have no text: the indexes that belong to a table's own definition."""
    rows = connection.execute(_SCHEMA)
    return [(str(kind), str(name), str(sql)) for kind, name, sql in rows if sql and not str(sql).startswith(_OWN)]

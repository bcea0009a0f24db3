"""Is the database itself sound? Its pages, schema, values, references, counters and search index, looked at in a copy.

The index can only be checked by a connection that may write, so everything is checked in a private
copy, taken in one step: one moment of the store, also beside a running server, which is not touched.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from enum import StrEnum
from itertools import chain, islice
from pathlib import Path
from tempfile import TemporaryDirectory

from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.store.checks.strange_events import strange_events
from mcp_agent_mail.store.checks.strange_fields import strange_fields, too_long
from mcp_agent_mail.store.engine.free_space import told_when_full
from mcp_agent_mail.store.engine.sqlite.connection import add_functions, open_reading
from mcp_agent_mail.store.engine.sqlite.faults import faults_told, is_damage, is_outside_fault
from mcp_agent_mail.store.engine.sqlite.migrate import require_ours
from mcp_agent_mail.store.engine.sqlite.schema import FTS_INDEXES, changed_parts, open_own
from mcp_agent_mail.store.mail.inbox_counts import COUNTS

FAULTS_SHOWN = 100

_INTEGRITY = f"PRAGMA integrity_check({FAULTS_SHOWN})"
_QUICK = "PRAGMA quick_check(1)"
_FOREIGN_KEYS = "PRAGMA foreign_key_check"
# rank 1: compare with the messages (the names) too, not only the index with itself.
_SEARCH_INDEXES = [f"INSERT INTO {index} ({index}, rank) VALUES ('integrity-check', 1)" for index in FTS_INDEXES]
_MISCOUNTED = """
    SELECT id, name, {column}, found FROM (SELECT id, name, {column}, ({query}) AS found FROM agents) AS counted
    WHERE {column} <> found ORDER BY id LIMIT ?
"""
_WORDS = {
    "unread_count": "unread",
    "open_unread_count": "open unread",
    "inbox_count": "delivered",
    "urgent_unread_count": "urgent unread",
    "ack_pending_count": "unacknowledged",
}
_AGENT_COUNTERS = [(words, _MISCOUNTED.format(column=column, query=COUNTS[column])) for column, words in _WORDS.items()]
_DELIVERIES = """
    SELECT value, max((SELECT coalesce(max(max(coalesce(delivery_seq, 0), coalesce(withdrawn_seq, 0))), 0)
                       FROM recipients), (SELECT coalesce(max(cursor), 0) FROM feed)) FROM counters
    WHERE name = 'delivery'
"""
_FENCING = "SELECT value, (SELECT coalesce(max(fencing), 0) FROM leases) FROM counters WHERE name = 'fencing'"


class DatabasePart(StrEnum):
    """What of the database is at fault."""

    PAGES = "database"
    SCHEMA = "schema"
    VALUES = "values"
    REFERENCES = "references"
    COUNTERS = "counters"
    SEARCH_INDEX = "search index"


@dataclass(frozen=True, slots=True, kw_only=True)
class IntegrityFault:
    part: DatabasePart
    evidence: str


def find_faults(path: Path) -> list[IntegrityFault]:
    """All faults, at most FAULTS_SHOWN of each part; where the schema is at fault, or a text longer than any is, those
    alone. Raises StoreRefused for another program's file, DiskFull where there is no room for the copy, and StoreFailed
    where that cannot be read or written.

    Needs as much free space for temporary files as the store is large; takes seconds per GB.
    """
    require_ours(path)
    with TemporaryDirectory(prefix="am-verify-") as folder, told_when_full(Path(folder)):
        copy = Path(folder) / "store.sqlite3"
        with closing(sqlite3.connect(copy, isolation_level=None)) as connection:
            with closing(open_reading(path)) as original:
                original.backup(connection)
            add_functions(connection)
            with faults_told():
                return list(_faults(connection))


def find_strange(path: Path) -> list[IntegrityFault]:
    """Of all faults the values alone. Reads each table once, and copies nothing. Raises as `find_faults`."""
    require_ours(path)
    with faults_told(), closing(open_own(path)) as connection:
        return list(_values(connection))


def is_sound(path: Path) -> bool:
    """Can all of the database be read? Takes seconds per GB, and proves nothing of what it says. Raises StoreRefused
    for what is not this program's own.
    """
    try:
        with closing(open_own(path)) as connection:
            return connection.execute(_QUICK).fetchall() == [("ok",)]
    except sqlite3.Error:
        return False


def _faults(connection: sqlite3.Connection) -> Iterator[IntegrityFault]:
    # The other checks run what the schema says: constraints, expressions of indexes, views in a table's place.
    if changed := list(_found_by(_schema, connection)):
        yield from changed
        return
    # Constraints read values too: to tell that one is JSON takes many times its length.
    if long := list(_found_by(_lengths, connection)):
        yield from long
        return
    for check in (_pages, _values, _references, _counters, _search_index):
        yield from _found_by(check, connection)


def _found_by(
    check: Callable[[sqlite3.Connection], Iterator[IntegrityFault]], connection: sqlite3.Connection
) -> Iterator[IntegrityFault]:
    try:
        yield from check(connection)
    except sqlite3.DatabaseError as unreadable:
        _require_about_store(unreadable)
        yield IntegrityFault(
            part=DatabasePart.PAGES, evidence=f"{check.__name__.removeprefix('_')} cannot be read: {unreadable}"
        )


def _pages(connection: sqlite3.Connection) -> Iterator[IntegrityFault]:
    for (line,) in connection.execute(_INTEGRITY):
        if line != "ok":
            yield IntegrityFault(part=DatabasePart.PAGES, evidence=line)


def _schema(connection: sqlite3.Connection) -> Iterator[IntegrityFault]:
    for changed in changed_parts(connection)[:FAULTS_SHOWN]:
        yield IntegrityFault(part=DatabasePart.SCHEMA, evidence=changed)


def _lengths(connection: sqlite3.Connection) -> Iterator[IntegrityFault]:
    for long in too_long(connection):
        yield IntegrityFault(part=DatabasePart.VALUES, evidence=long)


def _values(connection: sqlite3.Connection) -> Iterator[IntegrityFault]:
    for strange in islice(chain(strange_fields(connection), strange_events(connection)), FAULTS_SHOWN):
        yield IntegrityFault(part=DatabasePart.VALUES, evidence=strange)


def _references(connection: sqlite3.Connection) -> Iterator[IntegrityFault]:
    for table, row_id, parent, _ in connection.execute(_FOREIGN_KEYS).fetchmany(FAULTS_SHOWN):
        row = f"row {row_id}" if row_id is not None else "a row"
        yield IntegrityFault(
            part=DatabasePart.REFERENCES, evidence=f"{row} of {table} refers to a row of {parent} that is not there"
        )


def _counters(connection: sqlite3.Connection) -> Iterator[IntegrityFault]:
    for what, look in _AGENT_COUNTERS:
        for agent_id, name, counted, unread in connection.execute(look, (FAULTS_SHOWN,)):
            yield IntegrityFault(
                part=DatabasePart.COUNTERS,
                evidence=f"agent {agent_id} ({name}) has {unread} {what} messages; its counter says {counted}",
            )
    for what, look in (("delivery", _DELIVERIES), ("fencing number", _FENCING)):
        # One that is missing is told as a value.
        for drawn, highest in connection.execute(look):
            if drawn < highest:
                yield IntegrityFault(
                    part=DatabasePart.COUNTERS, evidence=f"{what} {highest} exists; the counter says {drawn}"
                )


def _search_index(connection: sqlite3.Connection) -> Iterator[IntegrityFault]:
    for check in _SEARCH_INDEXES:
        try:
            connection.execute(check)
        except sqlite3.DatabaseError as differs:
            _require_about_store(differs)
            yield IntegrityFault(
                part=DatabasePart.SEARCH_INDEX, evidence=f"it does not hold what the messages say: {differs}"
            )


def _require_about_store(error: sqlite3.DatabaseError) -> None:
    """Raise what fails with the copy, for want of room or by a disk that is failing: of the store it proves nothing."""
    if is_outside_fault(error) and not is_damage(error):
        raise error

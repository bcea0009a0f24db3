"""Is the store whole? Pages, references, schema, full-text index, counters.

`check_store` reads only, over a connection of its own, so it works beside a running server. The one
check that SQLite gives to writers alone, the index compared with every word it was made from, is
`full_text_fault`, a unit of work: a pause of 0.13 s per 10,000 messages for all other writes.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from mcp_agent_mail.core.failpoints import no_fault
from mcp_agent_mail.store.connection import add_functions, open_reading
from mcp_agent_mail.store.faults import is_damage
from mcp_agent_mail.store.migrate import apply_migration, shipped_migrations
from mcp_agent_mail.store.view import Tx

FAULTS_SHOWN = 20
"""Of each check."""

_FTS_SHADOWS = {f"messages_fts_{part}" for part in ("config", "content", "data", "docsize", "idx")}
_SCHEMA = "SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name"
_UNINDEXED = "SELECT id FROM messages EXCEPT SELECT id FROM messages_fts_docsize ORDER BY 1 LIMIT ?"
_INDEXED_ONLY = "SELECT id FROM messages_fts_docsize EXCEPT SELECT id FROM messages ORDER BY 1 LIMIT ?"
_WORDS = "CREATE VIRTUAL TABLE temp.words USING fts5vocab(main, messages_fts, row)"
_WALK_WORDS = "SELECT count(*), sum(cnt) FROM temp.words"
_UNREAD = """
SELECT a.id, a.name, a.unread_count, count(r.message_id) AS unread
FROM agents a LEFT JOIN recipients r ON r.agent_id = a.id AND r.delivery_seq IS NOT NULL AND r.read_ts IS NULL
GROUP BY a.id HAVING a.unread_count <> unread ORDER BY a.id LIMIT ?
"""
_DRAWN_TWICE = """
SELECT c.value, max(r.delivery_seq) FROM counters c, recipients r
WHERE c.name = 'delivery' GROUP BY c.value HAVING max(r.delivery_seq) > c.value
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One thing that is not as it should be: what, how that is known, what to do next."""

    check: str
    problem: str
    evidence: str
    next_step: str


Check = Callable[[sqlite3.Connection], Iterator[Fault]]


def check_store(path: Path) -> list[Fault]:
    """Every fault found, at most FAULTS_SHOWN of each check. Takes seconds for large stores: never on an event loop."""
    faults: list[Fault] = []
    with closing(open_reading(path)) as connection:
        for check in (_pages, _references, _schema, _full_text, _counters):
            faults += islice(_told(check, connection), FAULTS_SHOWN)
    return faults


def full_text_fault(tx: Tx) -> Fault | None:
    """Compare the full-text index with the text of every message, word by word."""
    try:
        tx.meta.check_full_text()
    except sqlite3.DatabaseError as error:
        if not is_damage(error):
            raise
        return _unlike_text(str(error))
    return None


def _told(check: Check, connection: sqlite3.Connection) -> Iterator[Fault]:
    """What a check finds; damage that stops it is a finding too."""
    try:
        yield from check(connection)
    except sqlite3.DatabaseError as error:
        if not is_damage(error):
            raise
        yield _damaged(f"{check.__name__.strip('_')}: {error}")


def _damaged(evidence: str) -> Fault:
    return Fault(
        check="pages",
        problem="The database file is damaged.",
        evidence=evidence,
        next_step="Stop the server, keep a copy of the file, restore a backup or the copy from before a migration.",
    )


def _unlike_text(evidence: str) -> Fault:
    return Fault(
        check="full-text",
        problem="The full-text index is not made of the messages as they are: searches miss mail.",
        evidence=evidence,
        next_step="The messages themselves are unharmed. Report it; the index can be built again from them.",
    )


def _pages(connection: sqlite3.Connection) -> Iterator[Fault]:
    for (line,) in connection.execute(f"PRAGMA integrity_check({FAULTS_SHOWN})"):
        if line != "ok":
            yield _damaged(line)


def _references(connection: sqlite3.Connection) -> Iterator[Fault]:
    for table, row, target, _ in connection.execute("PRAGMA foreign_key_check"):
        yield Fault(
            check="references",
            problem=f"A row of {table} refers to a row of {target} that does not exist.",
            evidence=f"{table}, rowid {row}",
            next_step="Report it: the program never writes such a row. Restore a backup if mail is missing.",
        )


def _schema(connection: sqlite3.Connection) -> Iterator[Fault]:
    """What the migrations of this version make, against what is there."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as fresh:
        add_functions(fresh)
        for step in shipped_migrations()[:version]:
            apply_migration(fresh, step, no_fault)
        wanted = _definitions(fresh)
    found = _definitions(connection)
    for name in sorted(wanted.keys() | found.keys()):
        if wanted.get(name) != found.get(name):
            how = "is missing" if name not in found else "is not the program's" if name not in wanted else "differs"
            yield Fault(
                check="schema",
                problem=f"{name} {how}.",
                evidence=f"schema {version}: {found.get(name, wanted.get(name, ''))[:200]}",
                next_step="Undo what changed the database by hand, or restore a backup.",
            )


def _definitions(connection: sqlite3.Connection) -> dict[str, str]:
    """Less what FTS5 makes for itself, which depends on SQLite's version."""
    return {name: sql for name, sql in connection.execute(_SCHEMA) if name not in _FTS_SHADOWS}


def _full_text(connection: sqlite3.Connection) -> Iterator[Fault]:
    for statement, what in ((_UNINDEXED, "in no search"), (_INDEXED_ONLY, "in searches, but does not exist")):
        for (message_id,) in connection.execute(statement, (FAULTS_SHOWN,)):
            yield _unlike_text(f"message {message_id} is {what}")
    connection.execute("PRAGMA query_only=OFF")  # For a table in memory: the file is opened for reading only.
    connection.execute(_WORDS)
    connection.execute(_WALK_WORDS).fetchone()


def _counters(connection: sqlite3.Connection) -> Iterator[Fault]:
    for agent_id, name, kept, counted in connection.execute(_UNREAD, (FAULTS_SHOWN,)):
        yield Fault(
            check="counters",
            problem=f"{name}'s count of unread mail is {kept}; {counted} are unread.",
            evidence=f"agent {agent_id}",
            next_step="Report it: both change in one transaction.",
        )
    for drawn, used in connection.execute(_DRAWN_TWICE):
        yield Fault(
            check="counters",
            problem=f"Delivery number {used} is in use and the counter stands at {drawn}: numbers would come twice.",
            evidence="counters, name delivery",
            next_step="Stop the server and restore a backup.",
        )

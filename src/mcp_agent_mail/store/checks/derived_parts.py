"""Makes anew what of the database follows from the rest of it: indexes, the search index, counters."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterator
from contextlib import closing
from pathlib import Path

from mcp_agent_mail.core.errors import Unavailable
from mcp_agent_mail.domain.search.identifiers import identifiers_in
from mcp_agent_mail.store.checks.integrity import DatabasePart, IntegrityFault
from mcp_agent_mail.store.engine.sqlite.connection import add_functions
from mcp_agent_mail.store.mail.inbox_counts import RECOUNT

REWRITTEN = frozenset({DatabasePart.PAGES, DatabasePart.COUNTERS, DatabasePart.SEARCH_INDEX})
"""The parts that may be mended here; of pages only those of indexes."""

_BUSY_S = 5.0
_COUNTERS = (
    RECOUNT,
    """
    UPDATE counters SET value = max(
        value, (SELECT coalesce(max(max(coalesce(delivery_seq, 0), coalesce(withdrawn_seq, 0))), 0) FROM recipients),
        (SELECT coalesce(max(cursor), 0) FROM feed))
    WHERE name = 'delivery'
    """,
    """
    UPDATE counters SET value = max(value, (SELECT coalesce(max(fencing), 0) FROM leases)) WHERE name = 'fencing'
    """,
)
_SEARCH_INDEX = (
    "INSERT INTO messages_fts (messages_fts) VALUES ('rebuild')",
    # As the table is emptied the index is told of each name: it has to hold them.
    "INSERT INTO identifiers_fts (identifiers_fts) VALUES ('rebuild')",
    "DELETE FROM identifiers",
)
_MAIL = """
    SELECT mp.project_id, m.subject, m.body_md FROM message_projects mp CROSS JOIN messages m ON m.id = mp.message_id
    ORDER BY mp.message_id, mp.project_id
"""
_NAME = "INSERT OR IGNORE INTO identifiers (scope, name) VALUES (?, ?)"
_STATEMENTS = {
    DatabasePart.PAGES: ("REINDEX",),
    DatabasePart.COUNTERS: _COUNTERS,
    DatabasePart.SEARCH_INDEX: _SEARCH_INDEX,
}


def is_derived(fault: IntegrityFault) -> bool:
    """Can what is at fault be made anew from the rest of the database?"""
    return fault.part in REWRITTEN and (fault.part is not DatabasePart.PAGES or "index" in fault.evidence)


class DerivedUnwritable(Unavailable):
    """SQLite could not make them anew; nothing was changed."""


def rewrite_derived(database_path: Path, parts: Collection[DatabasePart]) -> None:
    """All of `parts` or nothing, of those that are REWRITTEN. Safe to repeat; on disk when this returns. The caller
    holds the store's lock.
    """
    with closing(sqlite3.connect(database_path, timeout=_BUSY_S, isolation_level=None)) as connection:
        try:
            connection.execute("PRAGMA synchronous=FULL")
            add_functions(connection)
            connection.execute("BEGIN IMMEDIATE")
            for part, statements in _STATEMENTS.items():
                if part in parts:
                    for statement in statements:
                        connection.execute(statement)
            if DatabasePart.SEARCH_INDEX in parts:
                connection.executemany(_NAME, _names(connection))
            connection.execute("COMMIT")
        except sqlite3.Error as failed:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise DerivedUnwritable(
                f"What follows from the rest of {database_path} could not be made anew: {failed}.",
                hint="`am doctor rebuild` makes a new database from Git.",
            ) from failed


def _names(connection: sqlite3.Connection) -> Iterator[tuple[str, str]]:
    """The names of code that each project's mail has spoken of."""
    for project_id, subject, body in connection.execute(_MAIL):
        for name in json.loads(identifiers_in(subject, body)):
            yield f"p{project_id}.", name

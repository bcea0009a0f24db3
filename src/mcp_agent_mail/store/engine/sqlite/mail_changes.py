"""Which agents' unread mail, or feed, a transaction changes, as SQLite itself sees it.

Temporary triggers on the writing connection note every agent whose unread counter is set, and every one whose feed gets
an event, whichever statement does it: a send, an approval, a receipt, mail from the server, or one that is written
tomorrow. What is rolled back is not noted.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from mcp_agent_mail.core.ids import AgentId

T = TypeVar("T")

_WATCH = (
    "CREATE TEMP TABLE IF NOT EXISTS mail_changes (agent_id INTEGER PRIMARY KEY) STRICT",
    """
    CREATE TEMP TRIGGER IF NOT EXISTS mail_changed AFTER UPDATE OF unread_count ON main.agents BEGIN
        INSERT INTO mail_changes (agent_id) VALUES (new.id) ON CONFLICT DO NOTHING;
    END
    """,
    """
    CREATE TEMP TRIGGER IF NOT EXISTS feed_changed AFTER INSERT ON main.feed BEGIN
        INSERT INTO mail_changes (agent_id) VALUES (new.agent_id) ON CONFLICT DO NOTHING;
    END
    """,
)
_TAKE = "DELETE FROM temp.mail_changes RETURNING agent_id"


class NotedChanges(Generic[T]):
    """For use on the writer's thread. Of each kind: the statements that begin to note, the one that takes what was
    noted, and `_to_change`. Nothing is made, and nothing costs, before somebody watches.
    """

    _begin: tuple[str, ...]
    _take: str

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._watching = False

    def watch(self) -> None:
        """From the next transaction on. Called outside of one; a repeat does nothing, or what is left of it."""
        if self._watching:
            return
        for statement in self._begin:
            self._connection.execute(statement)
        self._connection.commit()
        self._watching = True

    def take(self) -> frozenset[T]:
        """What the running transaction has changed, before it is committed; each change is given once."""
        if not self._watching:
            return frozenset()
        return frozenset(self._to_change(row) for row in self._connection.execute(self._take).fetchall())

    def _to_change(self, row: Sequence[Any]) -> T:  # Any: SQLite's rows are untyped
        raise NotImplementedError


class MailChanges(NotedChanges[AgentId]):
    """Of agents, each given once."""

    _begin = _WATCH
    _take = _TAKE

    def _to_change(self, row: Sequence[Any]) -> AgentId:  # Any: SQLite's rows are untyped
        return AgentId(row[0])

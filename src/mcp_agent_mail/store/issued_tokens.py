"""Issued tokens at rest: hashed."""

from __future__ import annotations

from collections.abc import Iterable

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import AgentId, IssuedTokenId, ProjectId
from mcp_agent_mail.core.roles import ROLES_BY_WORD
from mcp_agent_mail.domain.identity.issued_tokens import KEPT_AFTER_END, MAX_KEPT, IssuedToken, NewIssuedToken
from mcp_agent_mail.store.engine.port import Connection

_FORGOTTEN_AT_ONCE = 100

_COLUMNS = """
    t.id, t.role, t.agent_id, a.name, a.project_id, p.human_key, t.note, t.created_ts, t.expires_ts, t.revoked_ts,
    t.last_used_ts
"""
_TABLES = "issued_tokens t LEFT JOIN agents a ON a.id = t.agent_id LEFT JOIN projects p ON p.id = a.project_id"
_LIVE = "t.revoked_ts IS NULL AND (t.expires_ts IS NULL OR t.expires_ts > :now)"
_FIND = f"SELECT {_COLUMNS} FROM {_TABLES} WHERE t.id = ?"
_LIST = f"SELECT {_COLUMNS} FROM {_TABLES} WHERE :with_ended OR ({_LIVE}) ORDER BY t.id DESC LIMIT :limit"
_LIST_LIVE = f"SELECT t.token_hash, {_COLUMNS} FROM {_TABLES} WHERE {_LIVE} ORDER BY t.id LIMIT :limit"
_COUNT_LIVE = f"SELECT count(*) FROM issued_tokens t WHERE {_LIVE}"
_ADD = """
    INSERT INTO issued_tokens (token_hash, role, agent_id, note, created_ts, expires_ts)
    VALUES (?, ?, ?, ?, ?, ?) RETURNING id
"""
_REVOKE = "UPDATE issued_tokens SET revoked_ts = ? WHERE id = ? AND revoked_ts IS NULL"
_TOUCH = "UPDATE issued_tokens SET last_used_ts = max(coalesce(last_used_ts, 0), ?) WHERE id = ?"
_REMOVE = "DELETE FROM issued_tokens WHERE id = ?"
_FORGET = f"""
    DELETE FROM issued_tokens WHERE id IN (
        SELECT t.id FROM issued_tokens t WHERE coalesce(t.revoked_ts, t.expires_ts) <= :long_ago
        ORDER BY t.id LIMIT {_FORGOTTEN_AT_ONCE})
"""
_MAKE_ROOM = f"""
    DELETE FROM issued_tokens WHERE id IN (
        SELECT t.id FROM issued_tokens t WHERE NOT ({_LIVE}) ORDER BY t.id
        LIMIT max(0, (SELECT count(*) FROM issued_tokens) - {MAX_KEPT - 1}))
"""

_Row = tuple[int, str, int | None, str | None, int | None, str | None, str, int, int | None, int | None, int | None]


def _token(row: _Row) -> IssuedToken:
    number, role, agent_id, agent_name, project_id, project, note, created_ts, *ends = row
    expires_ts, revoked_ts, last_used_ts = (None if at is None else Micros(at) for at in ends)
    return IssuedToken(
        id=IssuedTokenId(number),
        role=ROLES_BY_WORD[role],
        agent_id=None if agent_id is None else AgentId(agent_id),
        agent_name=agent_name,
        project_id=None if project_id is None else ProjectId(project_id),
        project=project,
        note=note,
        created_ts=Micros(created_ts),
        expires_ts=expires_ts,
        revoked_ts=revoked_ts,
        last_used_ts=last_used_ts,
    )


class IssuedTokens:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def find(self, token_id: IssuedTokenId) -> IssuedToken | None:
        """The token of this number, in force or not, until it is forgotten."""
        row = self._connection.execute(_FIND, (token_id,)).fetchone()
        return None if row is None else _token(row)

    def list_(self, now: Micros, limit: int, *, with_ended: bool) -> list[IssuedToken]:
        """Those in force, or all that are kept, newest first."""
        given = {"now": now, "limit": limit, "with_ended": with_ended}
        return [_token(row) for row in self._connection.execute(_LIST, given)]

    def live(self, now: Micros) -> list[tuple[bytes, IssuedToken]]:
        """Those in force with their hashes, oldest first."""
        rows = self._connection.execute(_LIST_LIVE, {"now": now, "limit": MAX_KEPT})
        return [(row[0], _token(row[1:])) for row in rows]

    def count_live(self, now: Micros) -> int:
        (number,) = self._connection.execute(_COUNT_LIVE, {"now": now}).fetchone()
        return int(number)

    def add(self, new: NewIssuedToken, now: Micros) -> IssuedToken:
        """Store a token. Some that ended long ago are forgotten, and the first of those that have ended beyond
        MAX_KEPT.
        """
        self._connection.execute(_FORGET, {"long_ago": now - KEPT_AFTER_END})
        self._connection.execute(_MAKE_ROOM, {"now": now})
        values = (new.token_hash, new.role.word, new.agent_id, new.note, now, new.expires_ts)
        (number,) = self._connection.execute(_ADD, values).fetchone()
        added = self.find(IssuedTokenId(number))
        assert added is not None
        return added

    def revoke(self, token_id: IssuedTokenId, now: Micros) -> None:
        """End a token. One that is revoked keeps the time at which it was."""
        self._connection.execute(_REVOKE, (now, token_id))

    def touch_many(self, used: Iterable[tuple[IssuedTokenId, Micros]]) -> None:
        """Note when each was last used; never an earlier time than it has."""
        self._connection.executemany(_TOUCH, ((at, token_id) for token_id, at in used))

    def remove(self, token_id: IssuedTokenId) -> None:
        """Remove a token that nobody has been told."""
        self._connection.execute(_REMOVE, (token_id,))

"""Sessions of people's browsers at rest: hashed.

`server_token_hash` holds `judged_by`, whatever kind of token that is of, and behind its 32 bytes `subject_hash`.
"""

from __future__ import annotations

import json

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import AgentId, IssuedTokenId, WebSessionId
from mcp_agent_mail.core.roles import ROLES_BY_WORD
from mcp_agent_mail.domain.identity.web_sessions import MAX_LIVE, OpenedBy, SessionGrant, WebSession
from mcp_agent_mail.store.engine.port import Connection

_COLUMNS = """id, opened_by, role, issued_token_id, issued_to, claimed_agents, server_token_hash, created_ts, used_ts,
    expires_ts"""
_LIST = f"SELECT secret_hash, {_COLUMNS} FROM web_sessions ORDER BY id LIMIT {MAX_LIVE}"
_ADD = """
    INSERT INTO web_sessions (secret_hash, opened_by, role, issued_token_id, issued_to, claimed_agents,
        server_token_hash, created_ts, used_ts, expires_ts)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_TOUCH = "UPDATE web_sessions SET used_ts = max(used_ts, ?) WHERE id = ?"
_REMOVE = "DELETE FROM web_sessions WHERE id = ?"
_HASH_BYTES = 32

_Row = tuple[int, str, str, int | None, int | None, str, bytes | None, int, int, int | None]


def _session(row: _Row) -> WebSession:
    number, by, role, token_id, issued_to, agents, hashes, created_ts, used_ts, expires_ts = row
    return WebSession(
        id=WebSessionId(number),
        grant=SessionGrant(
            by=OpenedBy(by),
            role=ROLES_BY_WORD[role],
            issued_token=None if token_id is None else IssuedTokenId(token_id),
            issued_to=None if issued_to is None else AgentId(issued_to),
            claimed_agents=tuple(json.loads(agents)),
            judged_by=None if hashes is None else hashes[:_HASH_BYTES],
            subject_hash=(hashes or b"")[_HASH_BYTES:] or None,
            expires_ts=None if expires_ts is None else Micros(expires_ts),
        ),
        created_ts=Micros(created_ts),
        used_ts=Micros(used_ts),
    )


class WebSessions:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def list_(self) -> list[tuple[bytes, WebSession]]:
        """All that are kept, with their hashes, whether they have ended or not."""
        return [(row[0], _session(row[1:])) for row in self._connection.execute(_LIST)]

    def add(self, secret_hash: bytes, grant: SessionGrant, now: Micros) -> None:
        """Store a session. Whoever does has made room for it: there are never more than MAX_LIVE."""
        values = (
            secret_hash,
            grant.by.value,
            grant.role.word,
            grant.issued_token,
            grant.issued_to,
            json.dumps(grant.claimed_agents),
            None if grant.judged_by is None else grant.judged_by + (grant.subject_hash or b""),
            now,
            now,
            grant.expires_ts,
        )
        self._connection.execute(_ADD, values)

    def touch(self, session_id: WebSessionId, at: Micros) -> None:
        """Note that it was in use; never an earlier time than it has."""
        self._connection.execute(_TOUCH, (at, session_id))

    def remove(self, session_id: WebSessionId) -> None:
        self._connection.execute(_REMOVE, (session_id,))

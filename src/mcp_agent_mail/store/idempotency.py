"""Idempotency keys: the first answer to a keyed call, kept 24 hours for whoever repeats the call."""

from __future__ import annotations

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.ids import AgentId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.store.engine.port import Connection

KEPT = 24 * 3_600 * SECOND
PRUNE_LOT = 100

_FIND = "SELECT arguments_hash, result FROM idempotency_keys WHERE agent_id = ? AND key = ? AND created_ts > ?"
_ADD = """
INSERT OR REPLACE INTO idempotency_keys (agent_id, key, arguments_hash, result, created_ts) VALUES (?, ?, ?, ?, ?)
"""
_REMOVE = "DELETE FROM idempotency_keys WHERE agent_id = ? AND key = ?"
_PRUNE = """
DELETE FROM idempotency_keys WHERE (agent_id, key) IN (
    SELECT agent_id, key FROM idempotency_keys WHERE created_ts <= ? ORDER BY created_ts, agent_id, key LIMIT ?
)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class RememberedAnswer:
    """`result` is the first answer as JSON text; `arguments_hash` tells a repeat from another call."""

    arguments_hash: bytes
    result: str


class IdempotencyKeys:
    """Keys belong to the acting agent: the same key of another agent is another key."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def find(self, agent_id: AgentId, key: str, now: Micros) -> RememberedAnswer | None:
        """The answer kept for the key; None for a key never used, and for one older than 24 hours."""
        row = self._connection.execute(_FIND, (agent_id, key, now - KEPT)).fetchone()
        return None if row is None else RememberedAnswer(arguments_hash=row[0], result=row[1])

    def add(self, agent_id: AgentId, key: str, answer: RememberedAnswer, now: Micros) -> None:
        """Remember; an expired answer under the same key is replaced. Drops at most `PRUNE_LOT` expired ones."""
        self._connection.execute(_ADD, (agent_id, key, answer.arguments_hash, answer.result, now))
        self._connection.execute(_PRUNE, (now - KEPT, PRUNE_LOT))

    def remove(self, agent_id: AgentId, key: str) -> None:
        """What the answer told of is undone, in this very unit: the next call with the key is a first one."""
        self._connection.execute(_REMOVE, (agent_id, key))

"""What doors have given: the oldest unread message of a mailbox is one caller's until its answer was written or lost.

Natively it is unread all the while.
"""

from __future__ import annotations

from typing import NamedTuple

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import AgentId, MessageId
from mcp_agent_mail.domain.doors.names import Door
from mcp_agent_mail.store.engine.port import Connection
from mcp_agent_mail.store.mail.passed_ends import passed_copies, still_valid

_SINCE = "CASE WHEN r.held_code IS NULL THEN min(m.created_ts, r.delivered_ts) ELSE r.delivered_ts END"
_HEADS = f"""
SELECT r.message_id, {_SINCE}
FROM recipients r INDEXED BY recipients_unread CROSS JOIN messages m ON m.id = r.message_id
WHERE r.agent_id = ? AND r.delivery_seq IS NOT NULL AND r.read_ts IS NULL AND r.expired_ts IS NULL
  AND {still_valid("r")}
  AND NOT EXISTS (SELECT 1 FROM pops p WHERE p.message_id = r.message_id AND p.agent_id = r.agent_id)
ORDER BY r.delivery_seq LIMIT ?
"""
_TAKE = "INSERT INTO pops (message_id, agent_id, door, popped_ts) VALUES (?, ?, ?, ?)"
_END = "DELETE FROM pops WHERE message_id = ? AND agent_id = ? AND popped_ts = ?"
_END_ALL = "DELETE FROM pops"
_UNREAD = "SELECT unread_count FROM agents WHERE id = ?"
_OPEN = f"""
SELECT count(*) FROM pops p INDEXED BY pops_agent
CROSS JOIN recipients r ON r.message_id = p.message_id AND r.agent_id = p.agent_id
WHERE p.agent_id = ? AND r.delivery_seq IS NOT NULL AND r.read_ts IS NULL AND r.expired_ts IS NULL
  AND {still_valid("r")}
"""


class Head(NamedTuple):
    """The message that is given next, and since when it waits."""

    message_id: MessageId
    since_ts: Micros


class Pops:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def head(self, agent_id: AgentId) -> Head | None:
        """The oldest that was delivered, is unread, still stands, and is nobody's."""
        return next(iter(self.heads(agent_id, 1)), None)

    def heads(self, agent_id: AgentId, limit: int) -> list[Head]:
        """As `head`, and those after it."""
        rows = self._connection.execute(_HEADS, (agent_id, limit)).fetchall()
        return [Head(MessageId(message_id), Micros(since)) for message_id, since in rows]

    def take(self, agent_id: AgentId, door: Door, now: Micros) -> MessageId | None:
        """The head, which is the caller's from now on until `end`."""
        head = self.head(agent_id)
        if head is None:
            return None
        self.give(head, agent_id, door, now)
        return head.message_id

    def give(self, head: Head, agent_id: AgentId, door: Door, now: Micros) -> None:
        """One of `heads`, in the unit that has looked: it is the caller's from now on until `end`."""
        self._connection.execute(_TAKE, (head.message_id, agent_id, door.value, now))

    def end(self, message_id: MessageId, agent_id: AgentId, popped_ts: Micros) -> bool:
        """It is nobody's any more; whether it was the caller's that took it at that time. A repeat changes nothing."""
        return self._connection.execute(_END, (message_id, agent_id, popped_ts)).rowcount == 1

    def end_all(self) -> int:
        """How many were somebody's. Before anybody is served: no answer of an earlier process is under way."""
        return self._connection.execute(_END_ALL).rowcount

    def count_waiting(self, agent_id: AgentId) -> int:
        """How many a door could give, one after the other."""
        (unread,) = self._connection.execute(_UNREAD, (agent_id,)).fetchone()
        (given,) = self._connection.execute(_OPEN, (agent_id,)).fetchone()
        return int(unread) - passed_copies(self._connection, agent_id).unread - int(given)

"""Held mail: copies that wait for their recipient's approval. They have no delivery number yet.

A message is mail of a project from the first copy on that is delivered; before that only its sender
sees it. So approving a copy may also open the message to one or two projects.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import AgentId, MessageId
from mcp_agent_mail.domain.contacts import HeldMail
from mcp_agent_mail.store.engine.port import Connection
from mcp_agent_mail.store.ladder import Ladder
from mcp_agent_mail.store.mail.delivery import COUNT_DELIVERED, draw_deliveries
from mcp_agent_mail.store.mail.passed_ends import still_valid

IS_HELD = (
    "r.delivery_seq IS NULL AND r.refused_ts IS NULL AND r.withdrawn_ts IS NULL AND r.expired_ts IS NULL "
    f"AND {still_valid('r')}"
)
_WAITING = f"r.agent_id = :target AND {IS_HELD}"
_FROM = "FROM recipients r INDEXED BY recipients_held CROSS JOIN messages m ON m.id = r.message_id"
_OF_PAIR = f"""
SELECT r.message_id, m.project_id, r.kind, m.thread_id, r.topic_key, a.project_id, r.urgent, r.ack_required {_FROM}
CROSS JOIN agents a ON a.id = r.agent_id
WHERE {_WAITING} AND m.sender_id = :source ORDER BY r.message_id
"""
_SIZE_OF_PAIR = f"""
SELECT count(*), coalesce(sum(m.body_bytes), 0),
       coalesce(sum((SELECT count(*) FROM recipients other WHERE other.message_id = m.id)), 0)
{_FROM} WHERE {_WAITING} AND m.sender_id = :source
"""
_COUNT_FOR = f"SELECT count(*) FROM recipients r INDEXED BY recipients_held WHERE r.agent_id = ? AND {IS_HELD}"
_FIND = f"SELECT 1 FROM recipients r WHERE r.message_id = ? AND r.agent_id = ? AND {IS_HELD}"
_REPLACED = f"""
SELECT DISTINCT t.supersedes {_FROM} CROSS JOIN message_terms t ON t.message_id = m.id
WHERE {_WAITING} AND m.sender_id = :source AND t.supersedes IS NOT NULL ORDER BY t.supersedes
"""
_DELIVER = "UPDATE recipients SET delivery_seq = ?, delivered_ts = ? WHERE message_id = ? AND agent_id = ?"
_OPEN = """
INSERT INTO message_projects (project_id, message_id, delivered_ts, thread_id, topic_key, delivery_seq, is_late)
VALUES (?, ?, ?, ?, ?, ?, 1) ON CONFLICT DO NOTHING
"""
_REFUSE = """
UPDATE recipients SET refused_ts = :now
WHERE agent_id = :target AND message_id = :message
"""
_SHOWN = """
SELECT m.id, m.subject, m.created_ts, s.name, s.project_id, sp.slug, t.name, t.project_id, tp.slug, r.held_code,
       r.refused_ts
"""
_ENDS = """
CROSS JOIN agents s ON s.id = m.sender_id CROSS JOIN projects sp ON sp.id = s.project_id
CROSS JOIN agents t ON t.id = r.agent_id CROSS JOIN projects tp ON tp.id = t.project_id
"""
_LIST_FOR = f"{_SHOWN} {_FROM} {_ENDS} WHERE {_WAITING} AND r.message_id > :after ORDER BY r.message_id LIMIT :limit"
_LIST_PAIR = f"{_SHOWN} {_FROM} {_ENDS} WHERE {_WAITING} AND m.sender_id = :source ORDER BY m.id LIMIT :limit"
# A held copy has a link behind it: the request that was made with it.
_LIST_BY = f"""
{_SHOWN} FROM contacts c CROSS JOIN recipients r INDEXED BY recipients_held
  ON r.agent_id = c.target_id AND {IS_HELD}
CROSS JOIN messages m ON m.id = r.message_id AND m.sender_id = c.source_id {_ENDS}
WHERE c.source_id = :source AND r.message_id > :after ORDER BY r.message_id, r.agent_id LIMIT :limit
"""


class HeldAmount(NamedTuple):
    """How much of one sender waits for one recipient; `copies` are all of those messages, whoever gets them."""

    messages: int
    body_bytes: int
    copies: int


def _held(row: tuple[Any, ...]) -> HeldMail:
    return HeldMail(
        message_id=row[0],
        subject=row[1],
        created_ts=row[2],
        sender=row[3],
        sender_project_id=row[4],
        sender_project_slug=row[5],
        recipient=row[6],
        recipient_project_id=row[7],
        recipient_project_slug=row[8],
        code=row[9],
        refused_ts=row[10],
    )


class Held:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def waiting(self, source_id: AgentId, target_id: AgentId) -> HeldAmount:
        row = self._connection.execute(_SIZE_OF_PAIR, {"source": source_id, "target": target_id}).fetchone()
        return HeldAmount._make(row)

    def is_held(self, message_id: MessageId, agent_id: AgentId) -> bool:
        """Whether a copy for the agent waits for its approval of the sender."""
        return self._connection.execute(_FIND, (message_id, agent_id)).fetchone() is not None

    def count_for(self, target_id: AgentId) -> int:
        (count,) = self._connection.execute(_COUNT_FOR, (target_id,)).fetchone()
        return int(count)

    def replace(self, source_id: AgentId, target_id: AgentId) -> list[MessageId]:
        """The messages that those of the pair would replace if they were delivered."""
        rows = self._connection.execute(_REPLACED, {"source": source_id, "target": target_id})
        return [MessageId(message_id) for (message_id,) in rows]

    def deliver(self, source_id: AgentId, target_id: AgentId, now: Micros) -> list[MessageId]:
        """Deliver everything of the pair that waits, in the order in which it was held; the ids of the messages.

        What has expired by then waits no more. What they `replace` has come to its end before.
        """
        rows = self._connection.execute(_OF_PAIR, {"source": source_id, "target": target_id}).fetchall()
        if not rows:
            return []
        first_seq, delivered_ts = draw_deliveries(self._connection, len(rows), now)
        self._connection.executemany(
            _DELIVER, [(first_seq + place, delivered_ts, row[0], target_id) for place, row in enumerate(rows)]
        )
        counts = {
            "all": len(rows),
            "open": sum(row[2] != "bcc" for row in rows),
            "urgent": sum(row[6] for row in rows),
            "ack": sum(row[7] for row in rows),
        }
        self._connection.execute(COUNT_DELIVERED, {**counts, "agents": json.dumps([target_id])})
        for place, (message_id, home, kind, thread_id, key, project_id, *_) in enumerate(rows):
            opened = dict.fromkeys((home,) if kind == "bcc" else (home, project_id))
            self._connection.executemany(
                _OPEN, [(project, message_id, delivered_ts, thread_id, key, first_seq + place) for project in opened]
            )
        Ladder(self._connection).supersede([MessageId(row[0]) for row in rows], delivered_ts)
        return [MessageId(row[0]) for row in rows]

    def refuse(self, source_id: AgentId, target_id: AgentId, now: Micros) -> list[MessageId]:
        """Return everything of the pair that waits to its sender: it can never be delivered any more. The ids of the
        messages.
        """
        rows = self._connection.execute(_OF_PAIR, {"source": source_id, "target": target_id}).fetchall()
        self._connection.executemany(_REFUSE, [{"target": target_id, "message": row[0], "now": now} for row in rows])
        return [MessageId(row[0]) for row in rows]

    def list_for(self, target_id: AgentId, *, after_id: int = 0, limit: int) -> list[HeldMail]:
        """What waits for the agent's approval, oldest first."""
        values = {"target": target_id, "after": after_id, "limit": limit}
        return [_held(row) for row in self._connection.execute(_LIST_FOR, values)]

    def list_pair(self, source_id: AgentId, target_id: AgentId, limit: int) -> list[HeldMail]:
        """What of one sender waits for the agent's approval, oldest first."""
        values = {"source": source_id, "target": target_id, "limit": limit}
        return [_held(row) for row in self._connection.execute(_LIST_PAIR, values)]

    def list_by(self, source_id: AgentId, *, after_id: int = 0, limit: int) -> list[HeldMail]:
        """What the agent sent and others have not approved yet, oldest first."""
        values = {"source": source_id, "after": after_id, "limit": limit}
        return [_held(row) for row in self._connection.execute(_LIST_BY, values)]

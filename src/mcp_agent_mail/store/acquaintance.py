"""What two agents have to do with each other: the costly facts of the contact decision, for many recipients at once.

Each question is bounded in rows, so that a send to 500 stays within a few milliseconds; beyond a
bound an acquaintance is not found, and the mail is held or refused rather than let through.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import AgentId, MessageId, ProjectId
from mcp_agent_mail.domain.threads import root_of_thread

LETTERS = 5_000
"""So many of the newest copies that an agent sent or got are looked through."""
MESSAGES = 500
"""So many of the newest messages of a thread are looked through for who wrote them."""
COPIES = 20
"""So many of the newest copies of a thread in one inbox are looked at."""

_WRITERS = """
SELECT DISTINCT m.sender_id FROM (
    SELECT message_id FROM message_projects INDEXED BY message_projects_thread
    WHERE thread_id = :thread AND project_id = :project ORDER BY delivery_seq DESC LIMIT :messages
) t CROSS JOIN messages m ON m.id = t.message_id
"""
_READERS = """
SELECT value FROM json_each(:agents) WHERE EXISTS (
    SELECT 1 FROM (
        SELECT r.message_id, r.kind FROM recipients r INDEXED BY recipients_thread
        WHERE r.agent_id = value AND r.thread_id = :thread AND r.delivery_seq IS NOT NULL
        ORDER BY r.delivery_seq DESC LIMIT :copies
    ) got CROSS JOIN message_projects mp ON mp.project_id = :project AND mp.message_id = got.message_id
    WHERE got.kind <> 'bcc'
)
"""
_OF_ROOT = """
SELECT m.sender_id FROM messages m CROSS JOIN message_projects mp ON mp.project_id = :project AND mp.message_id = m.id
WHERE m.id = :root
UNION SELECT r.agent_id FROM recipients r
CROSS JOIN message_projects mp ON mp.project_id = :project AND mp.message_id = r.message_id
WHERE r.message_id = :root AND r.delivery_seq IS NOT NULL AND r.kind <> 'bcc'
"""
_WROTE_TO = """
SELECT DISTINCT agent_id FROM (
    SELECT r.agent_id, m.created_ts FROM messages m INDEXED BY messages_sender
    CROSS JOIN recipients r ON r.message_id = m.id AND r.delivery_seq IS NOT NULL
    WHERE m.sender_id = :agent ORDER BY m.id DESC LIMIT :letters
) WHERE created_ts > :since
"""
_HEARD_FROM = """
SELECT DISTINCT sender_id FROM (
    SELECT m.sender_id, r.delivered_ts FROM recipients r INDEXED BY recipients_inbox
    CROSS JOIN messages m ON m.id = r.message_id
    WHERE r.agent_id = :agent AND r.delivery_seq IS NOT NULL ORDER BY r.delivery_seq DESC LIMIT :letters
) WHERE delivered_ts > :since
"""
_SENDER_OF_RECEIVED = """
SELECT m.sender_id FROM recipients r CROSS JOIN messages m ON m.id = r.message_id
WHERE r.message_id = ? AND r.agent_id = ? AND r.delivery_seq IS NOT NULL
"""


class Acquaintance:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def taking_part(self, project_id: ProjectId, thread_id: str, agents: Collection[AgentId]) -> set[AgentId]:
        """Who of `agents` wrote or openly got mail of the project in this thread.

        A blind copy counts for nothing: what it opens would tell of it.
        """
        values = {
            "project": project_id,
            "thread": thread_id,
            "agents": json.dumps(list(agents)),
            "messages": MESSAGES,
            "copies": COPIES,
            "root": root_of_thread(thread_id),
        }
        found = {agent_id for (agent_id,) in self._connection.execute(_WRITERS, values)}
        found.update(agent_id for (agent_id,) in self._connection.execute(_READERS, values))
        found.update(agent_id for (agent_id,) in self._connection.execute(_OF_ROOT, values))
        return found & set(agents)

    def correspondents(self, agent_id: AgentId, since: Micros) -> set[AgentId]:
        """Those to whom the agent wrote after `since` and who wrote to it, both times delivered."""
        values = {"agent": agent_id, "since": since, "letters": LETTERS}
        wrote_to = {other for (other,) in self._connection.execute(_WROTE_TO, values)}
        if not wrote_to:
            return set()
        return wrote_to & {other for (other,) in self._connection.execute(_HEARD_FROM, values)}

    def answers(self, agent_id: AgentId, message_id: MessageId | None) -> AgentId | None:
        """The sender of this message, if the agent got it; None otherwise."""
        if message_id is None:
            return None
        row = self._connection.execute(_SENDER_OF_RECEIVED, (message_id, agent_id)).fetchone()
        return None if row is None else AgentId(row[0])

"""Who has unread mail, and which message of it is the newest."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any

from mcp_agent_mail.core.ids import AgentId, ProjectId
from mcp_agent_mail.domain.addresses import shown_name
from mcp_agent_mail.domain.signals import NewestUnread, UnreadInbox

_AGENT = "SELECT a.name, a.project_id, p.slug FROM agents a JOIN projects p ON p.id = a.project_id WHERE a.id = ?"
_NEWEST = """
SELECT m.id, s.name, m.project_id, p.slug, m.subject, m.importance, r.delivered_ts
FROM recipients r INDEXED BY recipients_unread CROSS JOIN messages m ON m.id = r.message_id
CROSS JOIN agents s ON s.id = m.sender_id CROSS JOIN projects p ON p.id = m.project_id
WHERE r.agent_id = ? AND r.delivery_seq IS NOT NULL AND r.read_ts IS NULL
ORDER BY r.delivery_seq DESC LIMIT 1
"""
_BLIND_FROM = """
SELECT count(*) FROM (
    SELECT 1 FROM recipients r INDEXED BY recipients_unread CROSS JOIN messages m ON m.id = r.message_id
    WHERE r.agent_id = ? AND r.delivery_seq IS NOT NULL AND r.read_ts IS NULL AND r.kind = 'bcc' AND m.sender_id = ?
    LIMIT ?)
"""
_AFTER = "SELECT id FROM agents WHERE id > ? ORDER BY id LIMIT ?"


class Unread:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def after(self, agent_id: int, limit: int) -> list[AgentId]:
        """Agents of all projects, by id, whether they have mail or not."""
        return [AgentId(found) for (found,) in self._connection.execute(_AFTER, (agent_id, limit))]

    def blind_from(self, sender_id: AgentId, agent_id: AgentId, limit: int) -> int:
        """How many unread blind copies of the sender's the agent has, counted as far as `limit`."""
        (count,) = self._connection.execute(_BLIND_FROM, (agent_id, sender_id, limit)).fetchone()
        return int(count)

    def inboxes(self, agent_ids: Iterable[AgentId]) -> list[UnreadInbox]:
        """One for each agent there is: some index probes each."""
        found = []
        for agent_id in agent_ids:
            agent = self._connection.execute(_AGENT, (agent_id,)).fetchone()
            if agent is not None:
                name, project_id, slug = agent
                row = self._connection.execute(_NEWEST, (agent_id,)).fetchone()
                newest = None if row is None else _newest(row, project_id)
                found.append(UnreadInbox(agent_id=agent_id, agent=name, project_slug=slug, newest=newest))
        return found


def _newest(row: Sequence[Any], seen_from: ProjectId) -> NewestUnread:  # Any: SQLite's rows are untyped
    message_id, sender, project_id, slug, subject, importance, delivered_ts = row
    return NewestUnread(
        id=message_id,
        sender=shown_name(sender, project_id, slug, seen_from),
        subject=subject,
        importance=importance,
        delivered_ts=delivered_ts,
    )

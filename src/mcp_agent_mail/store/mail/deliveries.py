"""Deliveries as they came, with what may be said of them outside: in the order of their numbers."""

from __future__ import annotations

from mcp_agent_mail.core.ids import AgentId
from mcp_agent_mail.domain.addresses import shown_name
from mcp_agent_mail.domain.signals import NewDelivery
from mcp_agent_mail.store.engine.port import Connection
from mcp_agent_mail.store.importing.imported_records import not_imported

_AFTER = f"""
SELECT r.delivery_seq, r.delivered_ts, a.name, a.project_id, home.slug, m.id, s.name, m.project_id, p.slug, m.subject,
       m.importance
FROM recipients r INDEXED BY recipients_inbox CROSS JOIN agents a ON a.id = r.agent_id
CROSS JOIN projects home ON home.id = a.project_id CROSS JOIN messages m ON m.id = r.message_id
CROSS JOIN agents s ON s.id = m.sender_id CROSS JOIN projects p ON p.id = m.project_id
WHERE r.agent_id = ? AND r.delivery_seq IS NOT NULL AND r.delivery_seq > ? AND {not_imported("m.id")}
ORDER BY r.delivery_seq LIMIT ?
"""


class Deliveries:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def after(self, agent_id: AgentId, delivery_seq: int, limit: int) -> list[NewDelivery]:
        """Up to `limit` of the agent's, oldest first. Of what was withdrawn since nothing is left, and what came
        as history is no news.
        """
        return [
            NewDelivery(
                delivery_seq=seq,
                delivered_ts=delivered_ts,
                project_slug=home,
                agent=agent,
                message_id=message_id,
                sender=shown_name(sender, project_id, slug, home_id),
                subject=subject,
                importance=importance,
            )
            for seq, delivered_ts, agent, home_id, home, message_id, sender, project_id, slug, subject, importance in (
                self._connection.execute(_AFTER, (agent_id, delivery_seq, limit))
            )
        ]

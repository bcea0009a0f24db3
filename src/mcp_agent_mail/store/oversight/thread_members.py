"""Who takes part in a thread."""

from __future__ import annotations

from mcp_agent_mail.core.ids import AgentId, ProjectId
from mcp_agent_mail.store.engine.port import Connection
from mcp_agent_mail.store.mail.thread_messages import mail_of_thread, thread_key

MOST_MAIL = 500
"""Of a thread: its newest mail."""

# No blind copy, whose reader the others would learn of; and none that is held, or has left its inbox.
_MEMBERS = f"""
    WITH mail (id) AS (
        SELECT message_id FROM ({mail_of_thread()}
        ORDER BY delivery_seq DESC, message_id DESC LIMIT :mail) AS newest)
    SELECT id FROM (
        SELECT m.sender_id AS id FROM mail CROSS JOIN messages m ON m.id = mail.id
        UNION SELECT r.agent_id FROM mail CROSS JOIN recipients r ON r.message_id = mail.id
        WHERE r.kind <> 'bcc' AND r.delivery_seq IS NOT NULL) AS members
    ORDER BY id LIMIT :limit
"""


class ThreadMembers:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def list_(self, project_id: ProjectId, thread_id: str, limit: int) -> list[AgentId]:
        """Who wrote the newest MOST_MAIL messages of the project in this thread, or was openly sent them; by id."""
        values = {**thread_key(project_id, thread_id), "mail": MOST_MAIL, "limit": limit}
        return [AgentId(row[0]) for row in self._connection.execute(_MEMBERS, values)]

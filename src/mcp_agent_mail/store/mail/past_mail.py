"""What mail of a project was, over time: how much on each day, who wrote to whom, and which carried attachments.

Of the mail that every agent of the project may read, from its newest end: each look walks a bounded stretch of it.
"""

from __future__ import annotations

from typing import NamedTuple

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.ids import MessageId, ProjectId
from mcp_agent_mail.domain.messages import MessageHead
from mcp_agent_mail.store.engine.port import Connection
from mcp_agent_mail.store.mail.messages import HEAD_COLUMNS, HEAD_JOINS, to_head

DAY = 86_400 * SECOND
MOST_COUNTED = 20_000
"""Messages that are looked at for the days."""
MOST_WALKED = 2_000
"""Messages that are looked at for who wrote to whom."""
MOST_COPIES = 20_000
"""And copies of them."""
REACH = 50_000
"""So often one page of attachments leaps from a message that carries some to mail of the project."""

# Nothing is delivered before it was sent: what came earlier is not looked up.
_DAYS = """
WITH walked AS (
    SELECT message_id, delivered_ts FROM message_projects WHERE project_id = :project
    ORDER BY message_id DESC LIMIT :most)
SELECT m.created_ts / :day AS day, count(*) FROM walked CROSS JOIN messages m ON m.id = walked.message_id
WHERE walked.delivered_ts >= :since AND m.created_ts >= :since GROUP BY day ORDER BY day DESC LIMIT :limit
"""
_PAIRS = """
WITH walked AS (
    SELECT message_id FROM message_projects WHERE project_id = :project ORDER BY message_id DESC LIMIT :most),
copies AS (
    SELECT r.message_id AS id, r.sender_id, r.agent_id
    FROM walked LEFT JOIN messages system INDEXED BY messages_system
      ON system.id = walked.message_id AND system.is_system = 1
    CROSS JOIN recipients r ON r.message_id = walked.message_id
    WHERE system.id IS NULL AND r.kind <> 'bcc' AND r.delivery_seq IS NOT NULL LIMIT :copies),
pairs AS (
    SELECT sender_id, agent_id, count(*) AS messages, max(id) AS newest FROM copies GROUP BY sender_id, agent_id)
SELECT s.name, sp.slug, a.name, ap.slug, pairs.messages, pairs.newest
FROM pairs CROSS JOIN agents s ON s.id = pairs.sender_id CROSS JOIN projects sp ON sp.id = s.project_id
CROSS JOIN agents a ON a.id = pairs.agent_id CROSS JOIN projects ap ON ap.id = a.project_id
ORDER BY pairs.messages DESC, pairs.newest DESC, pairs.sender_id, pairs.agent_id LIMIT :limit
"""
_CARRIER = "(SELECT max(message_id) FROM message_attachments WHERE message_id <= {})"
_OF_PROJECT = "(SELECT max(message_id) FROM message_projects WHERE project_id = :project AND message_id <= {})"
_FIRST = _CARRIER.format(":before - 1")
_NEXT = _CARRIER.format("mail - (carrier = mail)")
# From a message that carries something to the newest mail of the project up to there, and back, until both are one: so
# it walks through neither a project that carries little nor what all others carry.
_CARRIERS = f"""
WITH RECURSIVE leaps (carrier, mail, found) AS (
    SELECT {_FIRST}, {_OF_PROJECT.format(_FIRST)}, 0
    UNION ALL
    SELECT {_NEXT}, {_OF_PROJECT.format(_NEXT)}, found + (carrier = mail) FROM leaps
    WHERE mail IS NOT NULL AND found + (carrier = mail) < :limit ORDER BY 1 DESC LIMIT :reach)
SELECT {HEAD_COLUMNS} FROM leaps CROSS JOIN messages m ON m.id = leaps.carrier {HEAD_JOINS}
WHERE leaps.carrier = leaps.mail ORDER BY leaps.carrier DESC LIMIT :limit
"""


class MailDay(NamedTuple):
    """How many messages were sent on a day; `day` counts from 1970-01-01, UTC."""

    day: int
    messages: int


class MailPair(NamedTuple):
    """How many messages an agent had from another, and the newest of them."""

    sender: str
    sender_slug: str
    recipient: str
    recipient_slug: str
    messages: int
    newest: MessageId


class MailHistory:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def days(self, project_id: ProjectId, since: Micros, limit: int) -> list[MailDay]:
        """Those days since then on which mail was sent, newest first; of the newest MOST_COUNTED messages."""
        asked = {"project": project_id, "since": since, "day": DAY, "most": MOST_COUNTED, "limit": limit}
        return [MailDay._make(row) for row in self._connection.execute(_DAYS, asked)]

    def pairs(self, project_id: ProjectId, limit: int) -> list[MailPair]:
        """Who wrote to whom, most first, without blind copies; of the newest MOST_WALKED messages."""
        asked = {"project": project_id, "most": MOST_WALKED, "copies": MOST_COPIES, "limit": limit}
        return [MailPair._make(row) for row in self._connection.execute(_PAIRS, asked)]

    def carriers(self, project_id: ProjectId, before: MessageId, limit: int) -> list[MessageHead]:
        """Messages below `before` that carry attachments, newest first; it looks as far back as REACH leaps go."""
        asked = {"project": project_id, "before": before, "reach": REACH, "limit": limit}
        return [to_head(row) for row in self._connection.execute(_CARRIERS, asked)]

"""How copies have ended, of what archives tell: the terms of messages, and what was read before.

What somebody has read cannot end, and nothing is read once it has: so an end follows from the terms of the message, of
the one that replaces it, and from whether the copy was ever read.
"""

from __future__ import annotations

import sqlite3

from mcp_agent_mail.core.clock import Micros

_ANSWERED = """
UPDATE recipients SET answered_ts = (
    SELECT min(m.created_ts) FROM messages m
    WHERE m.reply_to = recipients.message_id AND m.sender_id = recipients.agent_id)
WHERE delivery_seq IS NOT NULL AND message_id IN (SELECT reply_to FROM messages WHERE reply_to IS NOT NULL)
"""
_SUPERSEDED = """
UPDATE recipients SET superseded_by = (
    SELECT n.message_id FROM message_terms t JOIN recipients n ON n.message_id = t.message_id
    WHERE t.supersedes = recipients.message_id AND n.agent_id = recipients.agent_id AND n.delivery_seq IS NOT NULL
    ORDER BY n.delivery_seq LIMIT 1)
WHERE message_id IN (SELECT supersedes FROM message_terms WHERE supersedes IS NOT NULL)
"""
# Of what was not read, whichever came first; what was read says that its message was withdrawn.
_WITHDRAWN = """
UPDATE recipients SET withdrawn_ts = (
    SELECT min(at) FROM (
        SELECT withdrawn_ts AS at FROM message_terms WHERE message_id = recipients.message_id
        UNION ALL SELECT n.delivered_ts FROM recipients n
        WHERE n.message_id = recipients.superseded_by AND n.agent_id = recipients.agent_id
          AND recipients.read_ts IS NULL) AS times)
WHERE refused_ts IS NULL AND (superseded_by IS NOT NULL OR message_id IN (
    SELECT message_id FROM message_terms WHERE withdrawn_ts IS NOT NULL))
"""
_EXPIRED = """
UPDATE recipients SET expired_ts = valid_until_ts
WHERE valid_until_ts IS NOT NULL AND read_ts IS NULL AND refused_ts IS NULL
  AND valid_until_ts <= coalesce(withdrawn_ts, :now)
"""
_LEFT = """
UPDATE recipients SET withdrawn_seq = delivery_seq, delivery_seq = NULL
WHERE withdrawn_ts IS NOT NULL AND read_ts IS NULL AND delivery_seq IS NOT NULL
"""
_CLOSED = """
DELETE FROM message_projects WHERE message_id IN (
    SELECT message_id FROM message_terms WHERE withdrawn_ts IS NOT NULL
    UNION SELECT message_id FROM recipients GROUP BY message_id
    HAVING max(delivery_seq) IS NULL AND max(withdrawn_seq) IS NOT NULL)
"""


def settle_ends(connection: sqlite3.Connection, now: Micros) -> None:
    """Once all messages and receipts are there, and every delivery has its number."""
    for statement in (_ANSWERED, _SUPERSEDED, _WITHDRAWN):
        connection.execute(statement)
    connection.execute(_EXPIRED, {"now": now})
    for statement in (_LEFT, _CLOSED):
        connection.execute(statement)

"""How copies were withdrawn, of what archives tell: the terms of messages, and what was read before.

What somebody has read cannot be withdrawn, and nothing is read once it has: so it follows from the terms of the
message, of the one that replaces it, and from whether the copy was ever read. Whoever answers has read: who answers
what has left its inbox answers no copy. Feeds begin after all that.
"""

from __future__ import annotations

from mcp_agent_mail.store.engine.port import Connection
from mcp_agent_mail.store.feed import REBUILT_UNTIL
from mcp_agent_mail.store.mail.successors import ended_blindly

# Who has found mail in a thread may reply before it gets its own copy, which answers nothing. What came first is told
# by numbers, which no clock sets back; by times where a reply has none.
_ANSWERED = """
UPDATE recipients SET answered_ts = (
    SELECT m.created_ts FROM messages m
    WHERE m.reply_to = recipients.message_id AND m.sender_id = recipients.agent_id
      AND (recipients.held_code IS NULL OR coalesce((
          SELECT min(n.delivery_seq) FROM recipients n WHERE n.message_id = m.id AND n.held_code IS NULL
      ) > recipients.delivery_seq, m.created_ts >= recipients.delivered_ts))
    ORDER BY m.id LIMIT 1)
WHERE delivery_seq IS NOT NULL AND read_ts IS NOT NULL
  AND message_id IN (SELECT reply_to FROM messages WHERE reply_to IS NOT NULL)
"""
_SUPERSEDED = """
UPDATE recipients SET superseded_by = (
    SELECT n.message_id FROM message_terms t JOIN recipients n ON n.message_id = t.message_id
    WHERE t.supersedes = recipients.message_id AND n.agent_id = recipients.agent_id AND n.delivery_seq IS NOT NULL
    ORDER BY n.delivery_seq LIMIT 1)
WHERE message_id IN (SELECT supersedes FROM message_terms WHERE supersedes IS NOT NULL)
"""
# Of what was not read whichever came first, and it leaves its inbox; what was read says that its message was withdrawn.
_WITHDRAWN = """
UPDATE recipients SET withdrawn_ts = ended.at,
    withdrawn_seq = CASE WHEN read_ts IS NULL THEN delivery_seq END,
    delivery_seq = CASE WHEN read_ts IS NOT NULL THEN delivery_seq END
FROM (
    SELECT message_id, agent_id, min(at) AS at FROM (
        SELECT r.message_id, r.agent_id, t.withdrawn_ts AS at
        FROM message_terms t JOIN recipients r ON r.message_id = t.message_id WHERE t.withdrawn_ts IS NOT NULL
        UNION ALL SELECT r.message_id, r.agent_id, n.delivered_ts
        FROM recipients r JOIN recipients n ON n.message_id = r.superseded_by AND n.agent_id = r.agent_id
        WHERE r.superseded_by IS NOT NULL AND r.read_ts IS NULL) AS times
    GROUP BY message_id, agent_id) AS ended
WHERE recipients.message_id = ended.message_id AND recipients.agent_id = ended.agent_id AND refused_ts IS NULL
"""
_CLOSED = f"""
DELETE FROM message_projects WHERE message_id IN (
    SELECT message_id FROM message_terms WHERE withdrawn_ts IS NOT NULL
    UNION SELECT r.message_id FROM recipients r GROUP BY r.message_id
    HAVING max(r.delivery_seq) IS NULL AND max(r.withdrawn_seq) IS NOT NULL AND NOT max({ended_blindly("r")}))
"""
_BEGIN_FEED = """
UPDATE counters SET value = (SELECT value FROM counters WHERE name = 'delivery') WHERE name = 'feed_floor'
"""
# Of which copies senders were told that nobody saw them, whoever tells of them knows: how soon that is, settings say.
_BEGIN_UNSEEN = f"""
INSERT INTO meta (key, value)
SELECT '{REBUILT_UNTIL}', latest.ts FROM (SELECT CAST(max(delivered_ts) AS TEXT) AS ts FROM recipients) AS latest
WHERE latest.ts IS NOT NULL
"""


def settle_ends(connection: Connection) -> None:
    """Once all messages and receipts are there, and every delivery has its number."""
    for statement in (_ANSWERED, _SUPERSEDED, _WITHDRAWN, _CLOSED):
        connection.execute(statement)


def begin_feed(connection: Connection) -> None:
    """Once the counters are set: what happened before is in no feed. That nobody saw it is rather told once more than
    never (`Feed.pass_over_told`).
    """
    connection.execute(_BEGIN_FEED)
    connection.execute(_BEGIN_UNSEEN)

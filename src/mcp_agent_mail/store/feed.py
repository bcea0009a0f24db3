"""The feeds at rest: what happened to the mail that an agent got and sent, in the order of one rising number.

Deliveries are read from the inbox, all else from the feed's own rows, which triggers write. What is older than is kept
lies at or below the counter 'feed_floor'.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from contextlib import closing
from itertools import islice
from typing import NamedTuple

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import MOST_NUMBER, AgentId, MessageId, ProjectId
from mcp_agent_mail.domain.copy_readership import may_know_of_copy
from mcp_agent_mail.domain.messages import RecipientKind
from mcp_agent_mail.store.engine.port import Connection
from mcp_agent_mail.store.importing.imported_records import not_imported
from mcp_agent_mail.store.mail.passed_ends import still_valid

# A delivery whose copy has left its inbox stands in the feed's own rows.
_DELIVERED = """
SELECT delivery_seq, 'delivered', message_id, NULL, NULL, NULL, delivered_ts, NULL, NULL, NULL
FROM recipients INDEXED BY recipients_inbox
WHERE agent_id = :agent AND delivery_seq IS NOT NULL AND delivery_seq > :after ORDER BY delivery_seq LIMIT :limit
"""
# Without a limit: who reads on passes over what its reader may not know of.
_OTHERS = """
SELECT f.cursor, f.event, f.message_id, a.name, a.project_id, p.slug, f.ts,
       f.about_id, r.kind, r.delivered_ts IS NOT NULL
FROM feed f INDEXED BY feed_agent
LEFT JOIN agents a ON a.id = f.about_id LEFT JOIN projects p ON p.id = a.project_id
LEFT JOIN recipients r ON r.message_id = f.message_id AND r.agent_id = f.about_id
WHERE f.agent_id = :agent AND f.cursor > :after ORDER BY f.cursor
"""
_STATES_OF = """
SELECT a.id, a.project_id, a.token_hash, a.retired_ts IS NOT NULL OR p.archived_ts IS NOT NULL,
       max(coalesce((SELECT max(cursor) FROM feed INDEXED BY feed_agent WHERE agent_id = a.id), 0),
           coalesce((SELECT max(delivery_seq) FROM recipients INDEXED BY recipients_inbox
                     WHERE agent_id = a.id AND delivery_seq IS NOT NULL), 0))
FROM agents a JOIN projects p ON p.id = a.project_id WHERE a.id IN
"""
_UNSEEN = f"""
SELECT delivery_seq, delivered_ts FROM recipients INDEXED BY recipients_unseen
WHERE delivery_seq > (SELECT value FROM counters WHERE name = 'unseen') AND delivery_seq IS NOT NULL
  AND (urgent = 1 OR ack_required = 1) AND read_ts IS NULL AND shown_ts IS NULL AND expired_ts IS NULL
  AND {still_valid()} AND {not_imported("recipients.message_id")}
ORDER BY delivery_seq LIMIT ?
"""
# Nobody reads that of the server's own mail.
_TELL_UNSEEN = f"""
INSERT INTO feed (cursor, agent_id, event, message_id, about_id, ts)
SELECT (SELECT value FROM counters WHERE name = 'delivery') + row_number() OVER (ORDER BY r.delivery_seq),
       m.sender_id, 'unseen', m.id, r.agent_id, :now
FROM recipients r INDEXED BY recipients_unseen CROSS JOIN messages m ON m.id = r.message_id
WHERE r.delivery_seq > (SELECT value FROM counters WHERE name = 'unseen') AND r.delivery_seq <= :last
  AND r.delivery_seq IS NOT NULL AND (r.urgent = 1 OR r.ack_required = 1) AND r.read_ts IS NULL AND r.shown_ts IS NULL
  AND r.expired_ts IS NULL AND {still_valid("r")} AND m.is_system = 0 AND {not_imported("m.id")}
"""
_UNSEEN_TOLD = """
UPDATE counters SET value = CASE name
    WHEN 'unseen' THEN :last
    ELSE max(value, (SELECT coalesce(max(cursor), 0) FROM feed)) END
WHERE name IN ('unseen', 'delivery')
"""
REBUILT_UNTIL = "rebuilt_until"
"""The note of a rebuild: when the newest delivery was that archives show. Whoever has obeyed it removes it."""
_PASS_OVER_TOLD = f"""
UPDATE counters SET value = max(value, coalesce((
    SELECT delivery_seq FROM recipients INDEXED BY recipients_unseen
    WHERE delivery_seq IS NOT NULL AND (urgent = 1 OR ack_required = 1) AND read_ts IS NULL AND shown_ts IS NULL
      AND expired_ts IS NULL
      AND delivered_ts <= (SELECT CAST(value AS INTEGER) FROM meta WHERE key = '{REBUILT_UNTIL}') - ?
    ORDER BY delivery_seq DESC LIMIT 1), 0))
WHERE name = 'unseen' AND EXISTS (SELECT 1 FROM meta WHERE key = '{REBUILT_UNTIL}')
"""
_FORGET_REBUILT = f"DELETE FROM meta WHERE key = '{REBUILT_UNTIL}'"
_ENDS = """
SELECT (SELECT value FROM counters WHERE name = 'feed_floor'), (SELECT value FROM counters WHERE name = 'delivery')
"""
_MARK = """
INSERT INTO feed_marks (ts, cursor) SELECT :now, value FROM counters WHERE name = 'delivery'
ON CONFLICT (ts) DO UPDATE SET cursor = excluded.cursor
"""
# A mark of a time that is still to come was made while the clock was ahead, or the clock is behind just now: it says
# nothing until then. It goes once the floor has passed it.
_LAST_MARK = "SELECT coalesce(max(ts), 0) FROM feed_marks WHERE ts <= ?"
# No further than the first mark that is younger: what was noted while the clock was behind lets nothing go early.
_OLD = """
SELECT max(cursor) FROM feed_marks WHERE ts <= :before
AND cursor <= (SELECT coalesce(min(cursor), :all) FROM feed_marks WHERE ts > :before AND ts <= :now)
"""
_FORGET_MARKS = """
DELETE FROM feed_marks WHERE ts <= :before
OR (ts > :now AND cursor <= (SELECT value FROM counters WHERE name = 'feed_floor'))
"""
_FORGET = """
DELETE FROM feed WHERE cursor IN (SELECT cursor FROM feed WHERE cursor <= ? ORDER BY cursor LIMIT ?)
"""
_RAISE_FLOOR = "UPDATE counters SET value = max(value, ?) WHERE name = 'feed_floor'"


class FeedEntry(NamedTuple):
    """One event of an agent's feed. `agent`, with its project, is the recipient whom the sender's event is about."""

    cursor: int
    event: str
    message_id: MessageId
    agent: str | None
    agent_project_id: int | None
    agent_project_slug: str | None
    ts: Micros


_ENTRY = len(FeedEntry._fields)
"""Columns; behind them stands what says who may know of it."""


class FeedEnds(NamedTuple):
    """The feed is kept above `floor`; `tail` is the last number that was given out."""

    floor: int
    tail: int


class AgentState(NamedTuple):
    """What decides whether an agent's feed may be read on, and the last number of what stands in it, whoever may know
    of that. `is_gone`: it is retired, or its project archived.
    """

    project_id: ProjectId
    token_hash: bytes | None
    is_gone: bool
    newest: int


class Feed:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def ends(self) -> FeedEnds:
        return FeedEnds._make(self._connection.execute(_ENDS).fetchone())

    def after(self, agent_id: AgentId, cursor: int, limit: int, *, is_proven: bool) -> list[FeedEntry]:
        """Up to `limit` events of the agent's feed behind a cursor, oldest first. `is_proven`: whoever reads is the
        agent for certain; else nothing is told of copies that only a proven sender may know of.
        """
        key = {"agent": agent_id, "after": cursor, "limit": limit}
        with (
            closing(self._connection.execute(_DELIVERED, key)) as delivered,
            closing(self._connection.execute(_OTHERS, key)) as others,
        ):
            merged = heapq.merge(delivered, others, key=lambda row: row[0])
            known = (row for row in merged if is_proven or _may_be_told(agent_id, *row[_ENTRY:]))
            return [FeedEntry._make(row[:_ENTRY]) for row in islice(known, limit)]

    def states_of(self, agents: Sequence[AgentId]) -> dict[AgentId, AgentState]:
        """By agent, of those there are. A few steps in an index for each."""
        rows = self._connection.execute(f"{_STATES_OF} ({', '.join('?' * len(agents))})", agents)
        return {
            AgentId(agent_id): AgentState(ProjectId(project_id), token_hash, bool(is_gone), newest)
            for agent_id, project_id, token_hash, is_gone, newest in rows
        }

    def tell_unseen(self, until: Micros, now: Micros, limit: int, *, aged: int = 0) -> bool:
        """Tell senders of up to `limit` copies that were delivered at `until` or before, or whose number is `aged` or
        lower, and nobody has seen: urgent ones, and those that ask for an acknowledgement. Each once: the counter
        'unseen' moves past them. Whether there may be more.

        Delivery times never fall along delivery numbers, so one number says how far all inboxes were looked through.
        """
        found = self._connection.execute(_UNSEEN, (limit,)).fetchall()
        due = [seq for seq, delivered_ts in found if delivered_ts <= until or seq <= aged]
        if due:
            self._connection.execute(_TELL_UNSEEN, {"last": due[-1], "now": now})
            self._connection.execute(_UNSEEN_TOLD, {"last": due[-1]})
        return len(due) == limit

    def pass_over_told(self, within: Micros) -> None:
        """Once after a rebuild: of copies that were delivered longer before the newest of that time, senders knew that
        nobody had seen them. Others may be told again.
        """
        if self._connection.execute(_PASS_OVER_TOLD, (within,)).rowcount:
            self._connection.execute(_FORGET_REBUILT)

    def mark(self, now: Micros, every: Micros) -> None:
        """Note how far the numbers are, where that was not noted for so long."""
        (last,) = self._connection.execute(_LAST_MARK, (now,)).fetchone()
        if last + every <= now:
            self._connection.execute(_MARK, {"now": now})

    def last_before(self, before: Micros, now: Micros) -> int | None:
        """The last number that is known to be older; None where none is."""
        key = {"before": before, "now": now, "all": MOST_NUMBER}
        (cursor,) = self._connection.execute(_OLD, key).fetchone()
        return None if cursor is None else int(cursor)

    def forget(self, before: Micros, now: Micros, limit: int) -> bool:
        """Drop up to `limit` events that are older; whether there are more."""
        times = {"before": before, "now": now}
        cursor = self.last_before(before, now)
        if cursor is not None:
            self._connection.execute(_RAISE_FLOOR, (cursor,))
            if self._connection.execute(_FORGET, (cursor, limit)).rowcount == limit:
                return True
        self._connection.execute(_FORGET_MARKS, times)
        return False


def _may_be_told(agent_id: AgentId, about_id: AgentId | None, kind: str | None, is_delivered: int) -> bool:
    """What is about nobody is about the agent's own copy."""
    if about_id is None:
        return True
    return kind is not None and may_know_of_copy(
        RecipientKind(kind), is_delivered=bool(is_delivered), is_own=about_id == agent_id, is_proven_sender=False
    )

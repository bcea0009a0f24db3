"""Inboxes: what was delivered to one agent, in the order of delivery, and what the agent did with it; and unread mail
at a glance, of many agents at once.

Every page walks one index over (agent, …, delivery_seq) from the end it starts at, so that its
cost grows with the page and not with the inbox. Delivery times never fall along `delivery_seq`:
a time is turned into a delivery number first, by halving.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from enum import Enum
from typing import Any, NamedTuple

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import MOST_NUMBER, AgentId, MessageId, ProjectId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.addresses import shown_name
from mcp_agent_mail.domain.ladder import LadderStep
from mcp_agent_mail.domain.messages import MOST_NEWER, InboxEntry
from mcp_agent_mail.domain.signals import NewestUnread, UnreadInbox
from mcp_agent_mail.domain.threads import topic_key
from mcp_agent_mail.store.engine.port import Connection
from mcp_agent_mail.store.mail.copy_steps import ReadingState, find_state, take_steps
from mcp_agent_mail.store.mail.messages import HEAD_COLUMNS, HEAD_JOINS, to_head
from mcp_agent_mail.store.mail.passed_ends import ANY_ENDS_LEFT, EndCounts, passed_copies, still_valid, true_end
from mcp_agent_mail.store.mail.successors import standing_successor

_NEWER = f"""(SELECT count(*) FROM (
           SELECT 1 FROM recipients later INDEXED BY recipients_sender
           WHERE later.agent_id = r.agent_id AND later.sender_id = r.sender_id AND later.delivery_seq IS NOT NULL
             AND later.delivery_seq > r.delivery_seq AND later.delivery_seq <= ? LIMIT {MOST_NEWER}) AS newer)"""
# Most copies hold as they were sent: they pay for one question and one column.
_END = f"""CASE WHEN coalesce(r.valid_until_ts, r.expired_ts, r.withdrawn_ts, r.superseded_by) IS NOT NULL
       THEN json_array({true_end("r")}, r.withdrawn_ts,
           CASE WHEN r.withdrawn_ts IS NOT NULL THEN (
               SELECT withdrawn_reason FROM message_terms WHERE message_id = r.message_id) END,
           {standing_successor("r")}) END"""
_HOLDS = (None, None, None, None)
# What was not held was delivered as it was written.
_SINCE = "CASE WHEN r.held_code IS NULL THEN min(m.created_ts, r.delivered_ts) ELSE r.delivered_ts END"
_LAST_SEQ = """
SELECT delivery_seq FROM recipients WHERE agent_id = ? AND delivery_seq IS NOT NULL ORDER BY delivery_seq DESC LIMIT 1
"""
_PROBE = """
SELECT delivery_seq, delivered_ts FROM recipients WHERE agent_id = ? AND delivery_seq >= ?
ORDER BY delivery_seq LIMIT 1
"""
_CURSOR = "SELECT coalesce(delivery_seq, withdrawn_seq) FROM recipients WHERE message_id = ? AND agent_id = ?"
_COUNTS = f"""
SELECT inbox_count, unread_count, ack_pending_count, urgent_unread_count, {ANY_ENDS_LEFT} FROM agents WHERE id = ?
"""
_HAS_LEFT = "SELECT 1 FROM recipients WHERE message_id = ? AND agent_id = ? AND withdrawn_seq IS NOT NULL"


class MailFilter(Enum):
    """Which mail a page keeps: the condition, and the partial index that repeats it word for word; what stands, and
    whose time has passed since, is filtered as it is met.
    """

    ANY = ("", "recipients_inbox")
    UNREAD = ("r.read_ts IS NULL AND r.expired_ts IS NULL", "recipients_unread")
    URGENT = ("r.urgent = 1", "recipients_urgent")
    URGENT_UNREAD = ("r.urgent = 1 AND r.read_ts IS NULL AND r.expired_ts IS NULL", "recipients_urgent_unread")
    STANDING = ("r.expired_ts IS NULL AND r.withdrawn_ts IS NULL", "recipients_inbox")
    URGENT_STANDING = ("r.urgent = 1 AND r.expired_ts IS NULL AND r.withdrawn_ts IS NULL", "recipients_urgent")
    UNACKNOWLEDGED = ("r.ack_required = 1 AND r.ack_ts IS NULL AND r.expired_ts IS NULL", "recipients_unacked")


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxPage:
    """What part of an inbox to read. `after_seq` (exclusive) and `to_seq` (inclusive) are delivery numbers. What came
    after `seen_to_seq` is not counted as newer either: for who looks back.

    A thread or a topic is walked by its own index, and `keep` filters what is met there; with
    `walk_kept` it is the other way round. `without_blind` leaves out what came as a blind copy.
    """

    limit: int
    keep: MailFilter = MailFilter.ANY
    thread_id: str | None = None
    topic: str | None = None
    after_seq: int = 0
    to_seq: int | None = None
    seen_to_seq: int = MOST_NUMBER
    oldest_first: bool = False
    walk_kept: bool = False
    without_blind: bool = False

    @property
    def is_newest(self) -> bool:
        """Whether all that came later than any of the page is on it too."""
        is_narrowed = self.thread_id is not None or self.topic is not None or self.without_blind
        is_bounded = self.to_seq is not None or self.seen_to_seq != MOST_NUMBER or self.oldest_first
        return self.keep is MailFilter.ANY and not is_narrowed and not is_bounded


class InboxCounts(NamedTuple):
    """What an inbox holds, whatever its size: all that was delivered, and of that the unread, what waits for an
    acknowledgement, and the unread of high or urgent importance.
    """

    total: int
    unread: int
    ack_pending: int
    urgent_unread: int


class Inboxes:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def page(self, agent_id: AgentId, page: InboxPage) -> list[InboxEntry]:
        """In the page's order. The newest of a whole inbox count for themselves who sent what came later."""
        sql, values = _page_query(agent_id, page)
        rows = self._connection.execute(sql, values)
        return _counted(rows) if page.is_newest else [_entry(row) for row in rows]

    def cursor(self, agent_id: AgentId, message_id: MessageId) -> int | None:
        """The delivery number of a message in this inbox, or that has left it; None when it never was in it."""
        row = self._connection.execute(_CURSOR, (message_id, agent_id)).fetchone()
        return None if row is None else row[0]

    def seq_until(self, agent_id: AgentId, at: Micros) -> int:
        """A number that parts the inbox: everything up to it was delivered at `at` or before, the rest after it."""
        row = self._connection.execute(_LAST_SEQ, (agent_id,)).fetchone()
        low, high = 1, 1 if row is None else row[0] + 1
        while low < high:
            middle = (low + high) // 2
            probe = self._connection.execute(_PROBE, (agent_id, middle)).fetchone()
            if probe is not None and probe[1] <= at:
                low = probe[0] + 1
            else:
                high = middle
        return low - 1

    def state(self, agent_id: AgentId, message_id: MessageId) -> ReadingState | None:
        """What the agent did with the message; None for an agent that is no recipient."""
        return find_state(self._connection, agent_id, message_id)

    def counts(self, agent_id: AgentId) -> InboxCounts:
        """Kept with the agent, not counted: as cheap for a million messages as for one, but while there are ends to be
        written down.
        """
        *stored, any_left = self._connection.execute(_COUNTS, (agent_id,)).fetchone()
        counts = InboxCounts._make(stored)
        if not any_left:
            return counts
        passed = passed_copies(self._connection, agent_id)
        return InboxCounts(
            total=counts.total,
            unread=counts.unread - passed.unread,
            ack_pending=counts.ack_pending - passed.ack_pending,
            urgent_unread=counts.urgent_unread - passed.urgent_unread,
        )

    def has_left(self, agent_id: AgentId, message_id: MessageId) -> bool:
        """Whether the agent's copy was withdrawn before it was read."""
        return self._connection.execute(_HAS_LEFT, (message_id, agent_id)).fetchone() is not None

    def mark_read(self, agent_id: AgentId, message_id: MessageId, now: Micros) -> ReadingState | None:
        """The first time stands for good. None, and nothing changes, for an agent that is no recipient."""
        return self.mark_all_read(agent_id, [message_id], now).get(message_id)

    def mark_all_read(
        self, agent_id: AgentId, message_ids: Iterable[MessageId], now: Micros
    ) -> dict[MessageId, ReadingState]:
        """`mark_read` for each; those that the agent is no recipient of are absent."""
        return take_steps(self._connection, agent_id, message_ids, now, (LadderStep.READ,))

    def acknowledge(self, agent_id: AgentId, message_id: MessageId, now: Micros) -> ReadingState | None:
        """Implies read. The first times stand for good; None for an agent that is no recipient."""
        return self.acknowledge_all(agent_id, [message_id], now).get(message_id)

    def acknowledge_all(
        self, agent_id: AgentId, message_ids: Iterable[MessageId], now: Micros
    ) -> dict[MessageId, ReadingState]:
        """`acknowledge` for each; those that the agent is no recipient of are absent."""
        return take_steps(self._connection, agent_id, message_ids, now, (LadderStep.READ, LadderStep.ACKNOWLEDGED))

    def answer(
        self, agent_id: AgentId, message_id: MessageId, now: Micros, *, acknowledges: bool
    ) -> ReadingState | None:
        """Implies read, of what has expired too: who answers has read it. Step by step up the ladder, so that nobody
        hears of a lower one after a higher one; the first times stand. `changed` is of the acknowledgement where it
        acknowledges, else of the reading. None, and nothing changes, for an agent that is no recipient.
        """
        acknowledged = (LadderStep.ACKNOWLEDGED,) if acknowledges else ()
        steps = (LadderStep.READ, *acknowledged, LadderStep.ANSWERED)
        return take_steps(self._connection, agent_id, [message_id], now, steps).get(message_id)


def _page_query(agent_id: AgentId, page: InboxPage) -> tuple[str, list[object]]:
    kept, index = page.keep.value
    conditions = ["r.agent_id = ?", "r.delivery_seq > ?"]
    values: list[object] = [agent_id, page.after_seq]
    if kept:
        conditions.append(kept)
    if "expired_ts" in kept:
        conditions.append(still_valid("r"))
    if page.without_blind:
        conditions.append("r.kind <> 'bcc'")
    if page.to_seq is not None:
        conditions.append("r.delivery_seq <= ?")
        values.append(page.to_seq)
    if page.topic is not None:
        conditions.append("r.topic_key = ?")
        values.append(topic_key(page.topic))
        index = index if page.walk_kept else "recipients_topic"
    if page.thread_id is not None:
        conditions.append("r.thread_id = ?")
        values.append(page.thread_id)
        index = index if page.walk_kept else "recipients_thread"
    direction = "" if page.oldest_first else "DESC"
    newer = "r.sender_id" if page.is_newest else _NEWER
    sql = f"""
SELECT {_END}, {newer}, {_SINCE}, r.kind, r.delivery_seq, r.delivered_ts, r.read_ts, r.ack_ts, {HEAD_COLUMNS}
FROM recipients r INDEXED BY {index} CROSS JOIN messages m ON m.id = r.message_id {HEAD_JOINS}
WHERE {" AND ".join(conditions)} ORDER BY r.delivery_seq {direction} LIMIT ?
"""
    return sql, [*values, page.limit] if page.is_newest else [page.seen_to_seq, *values, page.limit]


def _entry(row: Sequence[Any]) -> InboxEntry:
    return _to_entry(row, row[1])


def _counted(rows: Iterable[Sequence[Any]]) -> list[InboxEntry]:  # Any: SQLite's rows are untyped
    """Entries of rows, newest first, that have their sender where an entry says how many are newer of it."""
    newer: dict[int, int] = {}
    entries = []
    for row in rows:
        sender_id = row[1]
        count = newer.get(sender_id, 0)
        newer[sender_id] = count + 1
        entries.append(_to_entry(row, min(count, MOST_NEWER)))
    return entries


def _to_entry(row: Sequence[Any], newer: int) -> InboxEntry:
    end = _HOLDS if row[0] is None else json.loads(row[0])
    return InboxEntry._make((to_head(row[8:]), *row[3:8], *end, newer, row[2]))


_AGENT = "SELECT a.name, a.project_id, p.slug FROM agents a JOIN projects p ON p.id = a.project_id WHERE a.id = ?"
_NEWEST = f"""
SELECT m.id, s.name, m.project_id, p.slug, m.subject, m.importance, r.delivered_ts
FROM recipients r INDEXED BY recipients_unread CROSS JOIN messages m ON m.id = r.message_id
CROSS JOIN agents s ON s.id = m.sender_id CROSS JOIN projects p ON p.id = m.project_id
WHERE r.agent_id = ? AND r.delivery_seq IS NOT NULL AND r.read_ts IS NULL AND r.expired_ts IS NULL
  AND {still_valid("r")}
ORDER BY r.delivery_seq DESC LIMIT 1
"""
_BLIND_FROM = f"""
SELECT count(*) FROM (
    SELECT 1 FROM recipients r INDEXED BY recipients_unread CROSS JOIN messages m ON m.id = r.message_id
    WHERE r.agent_id = ? AND r.delivery_seq IS NOT NULL AND r.read_ts IS NULL AND r.expired_ts IS NULL
      AND {still_valid("r")} AND r.kind = 'bcc' AND m.sender_id = ?
    LIMIT ?) AS listed
"""
_AFTER = "SELECT id FROM agents WHERE id > ? ORDER BY id LIMIT ?"


class Unread:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def after(self, agent_id: int, limit: int) -> list[AgentId]:
        """Agents of all projects with ids above `agent_id`, by id, whether they have mail or not."""
        return [AgentId(found) for (found,) in self._connection.execute(_AFTER, (agent_id, limit))]

    def passed(self, agent_id: AgentId) -> EndCounts:
        """What the counts of the agent still hold, and is unread no more."""
        return passed_copies(self._connection, agent_id)

    def blind_from(self, sender_id: AgentId, agent_id: AgentId, limit: int) -> int:
        """How many unread blind copies of the sender's the agent has, counted as far as `limit`."""
        (count,) = self._connection.execute(_BLIND_FROM, (agent_id, sender_id, limit)).fetchone()
        return int(count)

    def inboxes(self, agent_ids: Iterable[AgentId]) -> list[UnreadInbox]:
        """The unread mail of each of these agents that there is, at the cost of some index probes each."""
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

"""Mail of all projects at once, newest first: what the person sees who watches over them.

Each page walks an index from its newest end, and looks back no further than REACH ids: so its cost grows with the page.
"""

from __future__ import annotations

from collections.abc import Collection
from heapq import nlargest
from itertools import product
from typing import Any, NamedTuple

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import MOST_NUMBER, AgentId, MessageId, ProjectId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.messages import Importance, MessageHead, RecipientKind
from mcp_agent_mail.domain.threads import root_of_thread, topic_key
from mcp_agent_mail.store.contacts import INTRODUCES_WAITING
from mcp_agent_mail.store.engine.port import Connection
from mcp_agent_mail.store.mail.messages import HEAD_COLUMNS, HEAD_JOINS, to_head
from mcp_agent_mail.store.mail.passed_ends import still_valid

REACH = 30_000
"""So many ids one page looks back: what passes its filters may be rare."""

_IS_OPEN = """EXISTS (
    SELECT 1 FROM message_projects mp WHERE mp.project_id = m.project_id AND mp.message_id = m.id)"""
_IS_DELIVERED = "EXISTS (SELECT 1 FROM recipients r WHERE r.message_id = m.id AND r.delivery_seq IS NOT NULL)"
_KEPT = """m.id < :before AND m.id >= :floor AND m.is_system = :is_system
AND (:importance IS NULL OR m.importance = :importance)
AND (:senders IS NULL OR instr(:senders, ',' || m.sender_id || ',') > 0)
AND m.created_ts >= :begin AND m.created_ts < :end
AND (:thread IS NULL OR m.thread_id = :thread OR m.id = :root)
AND (:recipients IS NULL OR EXISTS (
    SELECT 1 FROM recipients got WHERE got.message_id = m.id AND got.delivery_seq IS NOT NULL
    AND (got.kind <> 'bcc' OR :with_closed) AND instr(:recipients, ',' || got.agent_id || ',') > 0))"""
# Sent from it, or open to its readers.
_OF_PLACE = """(:project IS NULL OR m.project_id = :project OR EXISTS (
    SELECT 1 FROM message_projects placed WHERE placed.project_id = :project AND placed.message_id = m.id))"""
_TOPIC = """(:topic_key IS NULL OR EXISTS (
    SELECT 1 FROM message_projects mt
    WHERE mt.project_id = m.project_id AND mt.message_id = m.id AND mt.topic_key = :topic_key))"""
_SEEN = f"CASE WHEN :with_closed THEN {_IS_DELIVERED} ELSE {_IS_OPEN} END"
_EVERYWHERE = f"""
SELECT {HEAD_COLUMNS} FROM messages m {HEAD_JOINS}
WHERE {_KEPT} AND {_TOPIC} AND {_SEEN} ORDER BY m.id DESC LIMIT :limit
"""
# Said as the index says it: a value that is bound would not be known to pass.
_SYSTEM = f"""
SELECT {HEAD_COLUMNS} FROM messages m INDEXED BY messages_system {HEAD_JOINS}
WHERE m.is_system = 1 AND {_KEPT} AND {_TOPIC} AND {_SEEN} ORDER BY m.id DESC LIMIT :limit
"""
_OF_PROJECT = f"""
SELECT {HEAD_COLUMNS} FROM message_projects walked CROSS JOIN messages m ON m.id = walked.message_id {HEAD_JOINS}
WHERE walked.project_id = :project AND walked.message_id < :before AND walked.message_id >= :floor
  AND (:topic_key IS NULL OR walked.topic_key = :topic_key) AND {_KEPT}
ORDER BY walked.message_id DESC LIMIT :limit
"""
_OF_SENDER = f"""
SELECT {HEAD_COLUMNS} FROM messages m INDEXED BY messages_sender {HEAD_JOINS}
WHERE m.sender_id = :agent AND {_OF_PLACE} AND {_KEPT} AND {_TOPIC} AND {_SEEN} ORDER BY m.id DESC LIMIT :limit
"""
# A seek in each project, and then the numbers alone: who asks for a rare topic walks no other mail.
_NUMBERS_OF_TOPIC = """
SELECT walked.message_id FROM projects p CROSS JOIN message_projects walked INDEXED BY message_projects_topic
    ON walked.project_id = p.id AND walked.topic_key = :topic_key
WHERE walked.message_id < :before AND walked.message_id >= :floor
ORDER BY walked.message_id DESC
"""
_NUMBERS_OF_THREAD = """
SELECT message_id FROM message_projects INDEXED BY message_projects_thread
WHERE thread_id = :thread AND message_id < :before AND message_id >= :floor
UNION SELECT :root WHERE :root < :before AND :root >= :floor
ORDER BY message_id DESC
"""
_NUMBERS_OF_RECIPIENT = """
SELECT message_id FROM recipients INDEXED BY recipients_inbox
WHERE agent_id = :agent AND delivery_seq IS NOT NULL AND message_id < :before AND message_id >= :floor
ORDER BY message_id DESC
"""
_AT_ONCE = 100
_NUMBERS = tuple(f"number_{position}" for position in range(_AT_ONCE))
_OF_NUMBERS = f"""
SELECT {HEAD_COLUMNS} FROM messages m {HEAD_JOINS}
WHERE m.id IN ({", ".join(f":{name}" for name in _NUMBERS)}) AND {_OF_PLACE} AND {_KEPT} AND {_TOPIC} AND {_SEEN}
ORDER BY m.id DESC
"""
_OLDER = "SELECT 1 FROM message_projects WHERE project_id = ? AND message_id < ? LIMIT 1"
_NEWEST = "SELECT coalesce(max(id), 0) FROM messages"
_TO_PERSON = f"""
SELECT r.delivered_ts, r.read_ts, r.ack_ts, {HEAD_COLUMNS}
FROM agents h INDEXED BY agents_name_key CROSS JOIN recipients r INDEXED BY %s ON r.agent_id = h.id
CROSS JOIN messages m ON m.id = r.message_id {HEAD_JOINS}
WHERE h.name_key = 'human' AND h.kind = 'human' AND h.%s > 0
  AND r.delivery_seq IS NOT NULL AND %s AND r.expired_ts IS NULL AND {still_valid("r")}
  AND m.id < :before %s LIMIT :limit
"""
_NEWEST_FIRST = "ORDER BY m.id DESC"
_OWED = ("recipients_unacked", "ack_pending_count", "r.ack_required = 1 AND r.ack_ts IS NULL")
_OWED_BY_PERSON = _TO_PERSON % (*_OWED, _NEWEST_FIRST)
_URGENT_FIRST = "GROUP BY m.id ORDER BY m.importance = 'urgent' DESC, m.id"
_PRESSING_BY_PERSON = _TO_PERSON % (*_OWED, f"AND NOT {INTRODUCES_WAITING} {_URGENT_FIRST}")
_UNREAD_BY_PERSON = _TO_PERSON % ("recipients_unread", "unread_count", "r.read_ts IS NULL", _NEWEST_FIRST)
_COUNT_PRESSING = f"""
SELECT count(*) FROM (
    SELECT DISTINCT r.message_id
    FROM agents h INDEXED BY agents_name_key CROSS JOIN recipients r INDEXED BY recipients_unacked ON r.agent_id = h.id
    CROSS JOIN messages m ON m.id = r.message_id
    WHERE h.name_key = 'human' AND h.kind = 'human' AND h.ack_pending_count > 0 AND r.delivery_seq IS NOT NULL
      AND r.ack_required = 1 AND r.ack_ts IS NULL AND r.expired_ts IS NULL AND {still_valid("r")}
      AND NOT {INTRODUCES_WAITING} LIMIT ?) AS owed
"""
_PERSONS = """
SELECT coalesce(sum(unread_count), 0), coalesce(sum(ack_pending_count), 0)
FROM agents INDEXED BY agents_name_key WHERE name_key = 'human' AND kind = 'human'
"""
_STATE = """
SELECT r.read_ts, r.ack_ts FROM recipients r JOIN agents a ON a.id = r.agent_id
WHERE r.message_id = ? AND a.kind = 'human' AND r.delivery_seq IS NOT NULL LIMIT 1
"""
_REASON = """
SELECT r.kind, coalesce((
    SELECT s.kind = 'human' FROM messages o JOIN agents s ON s.id = o.sender_id WHERE o.id = m.reply_to), 0)
FROM recipients r JOIN agents a ON a.id = r.agent_id JOIN messages m ON m.id = r.message_id
WHERE r.message_id = ? AND a.kind = 'human' AND r.delivery_seq IS NOT NULL ORDER BY r.position LIMIT 1
"""

_COPIES = """
SELECT r.message_id, a.project_id, r.read_ts, r.ack_ts, r.ack_required
FROM recipients r JOIN agents a ON a.id = r.agent_id
WHERE r.message_id = ? AND a.kind = 'human' AND coalesce(r.delivery_seq, r.withdrawn_seq) IS NOT NULL
ORDER BY a.project_id LIMIT ?
"""
MOST_COPIES = 50
"""Of one message to the `Human` of several projects."""


class HumanCopy(NamedTuple):
    """A message as it came to the `Human` of one project, with what the person did with it."""

    message_id: MessageId
    project_id: ProjectId
    read_ts: Micros | None
    ack_ts: Micros | None
    ack_required: int


class HumanReason(NamedTuple):
    """Why a message came to `Human`: as what, and whether it answers mail of a `Human`."""

    kind: RecipientKind
    is_answer: bool


class HumanMail(NamedTuple):
    """A message in the inbox of a project's `Human`, with what the person did with it."""

    delivered_ts: Micros
    read_ts: Micros | None
    ack_ts: Micros | None
    head: MessageHead


@dataclass(frozen=True, slots=True, kw_only=True)
class MailQuery:
    """What mail to walk over, from below `before` on. `projects`, `senders` and `recipients` are None for all; of a
    project is what was sent from there, and what its readers got from others.
    `begin_ts` and `end_ts` are between which times it was sent, the first one in. `with_closed`: also what no project's
    readers see, and who got a blind copy. `is_system`: the mail of `System`, else all other.
    """

    limit: int
    before: MessageId | None = None
    projects: Collection[ProjectId] | None = None
    senders: Collection[AgentId] | None = None
    importance: Importance | None = None
    topic: str | None = None
    recipients: Collection[AgentId] | None = None
    thread_id: str | None = None
    begin_ts: Micros | None = None
    end_ts: Micros | None = None
    is_system: bool = False
    with_closed: bool = False


class MailSlice(NamedTuple):
    """`next_before` is where the next page begins, None where nothing older is left."""

    heads: list[MessageHead]
    next_before: MessageId | None


class AllMail:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def page(self, query: MailQuery) -> MailSlice:
        """A page, newest first. It may be short, or empty, with more behind it: the walk ends after REACH ids."""
        (newest,) = self._connection.execute(_NEWEST).fetchone()
        before = newest + 1 if query.before is None else min(query.before, newest + 1)
        floor = max(1, before - REACH)
        asked: dict[str, Any] = {
            "before": before,
            "floor": floor,
            "limit": query.limit + 1,
            "is_system": query.is_system,
            "project": None,
            "importance": query.importance,
            "topic_key": None if query.topic is None else topic_key(query.topic),
            "senders": _among(query.senders),
            "recipients": _among(query.recipients),
            "thread": query.thread_id,
            "root": None if query.thread_id is None else root_of_thread(query.thread_id),
            "begin": -MOST_NUMBER if query.begin_ts is None else query.begin_ts,
            "end": MOST_NUMBER if query.end_ts is None else query.end_ts,
            "with_closed": query.with_closed,
        }
        heads = self._heads(query, asked)
        if len(heads) > query.limit:
            return MailSlice(heads[: query.limit], heads[query.limit - 1].id)
        return MailSlice(heads, MessageId(floor) if floor > 1 and self._has_older(query.projects, floor) else None)

    def _has_older(self, projects: Collection[ProjectId] | None, floor: int) -> bool:
        if projects is None:
            return True
        return any(self._connection.execute(_OLDER, (one, floor)).fetchone() for one in projects)

    def _heads(self, query: MailQuery, asked: dict[str, Any]) -> list[MessageHead]:
        parts = self._parts(query, asked)
        if parts is None:
            return self._walked(_SYSTEM if query.is_system else _EVERYWHERE, asked)
        found = {head.id: head for part in parts for head in part}
        return nlargest(query.limit + 1, found.values(), key=lambda head: head.id)

    def _parts(self, query: MailQuery, asked: dict[str, Any]) -> list[list[MessageHead]] | None:
        """By the narrowest of the filters that have an index, project by project; None without any."""
        by_index = (
            (_NUMBERS_OF_THREAD, query.thread_id),
            (_OF_SENDER, query.senders),
            (_OF_PROJECT, query.projects),
            (_NUMBERS_OF_TOPIC, query.topic),
            (_NUMBERS_OF_RECIPIENT, query.recipients),
        )
        sql = next((sql for sql, wanted in by_index if wanted is not None), None)
        if sql is None:
            return None
        walk = self._walked if sql in (_OF_SENDER, _OF_PROJECT) else self._numbered
        agents = {_OF_SENDER: query.senders, _NUMBERS_OF_RECIPIENT: query.recipients}.get(sql)
        places: Collection[ProjectId | None] = [None] if query.projects is None else query.projects
        each = product(places, [None] if agents is None else agents)
        return [walk(sql, {**asked, "project": place, "agent": agent}) for place, agent in each]

    def _numbered(self, sql: str, asked: dict[str, Any]) -> list[MessageHead]:
        """A message of several projects, or to several agents, stands with each of them, and counts once."""
        walked = self._connection.execute(sql, asked)
        heads: dict[MessageId, MessageHead] = {}
        while len(heads) < asked["limit"] and (rows := walked.fetchmany(_AT_ONCE)):
            numbers = dict.fromkeys(_NUMBERS) | {name: row[0] for name, row in zip(_NUMBERS, rows, strict=False)}
            heads.update((head.id, head) for head in self._walked(_OF_NUMBERS, {**asked, **numbers}))
        return list(heads.values())[: asked["limit"]]

    def _walked(self, sql: str, asked: dict[str, Any]) -> list[MessageHead]:
        return [to_head(row) for row in self._connection.execute(sql, asked)]

    def open_to(self, project_id: ProjectId, *, before: MessageId, limit: int) -> list[MessageHead]:
        """What every agent of the project may read, wherever it was sent from, newest first; without that of `System`.
        Below the message `before`, and as far back as there is any.
        """
        asked = {
            "project": project_id,
            "before": before,
            "floor": 0,
            "limit": limit,
            "is_system": False,
            "importance": None,
            "topic_key": None,
            "senders": None,
            "recipients": None,
            "thread": None,
            "root": None,
            "begin": -MOST_NUMBER,
            "end": MOST_NUMBER,
            "with_closed": False,
        }
        return self._walked(_OF_PROJECT, asked)

    def owed_by_person(self, limit: int, before: MessageId) -> list[HumanMail]:
        """Mail to `Human`, of whatever project, whose acknowledgement is owed; newest first."""
        return self._to_person(_OWED_BY_PERSON, limit, before)

    def pressing_by_person(self, limit: int) -> list[HumanMail]:
        """The same but for introductions of contact requests that wait, each message once: urgent mail first, of each
        kind the oldest first.
        """
        return self._to_person(_PRESSING_BY_PERSON, limit, MessageId(MOST_NUMBER))

    def count_pressing(self, limit: int) -> int:
        """How many messages these are, counted as far as `limit`."""
        (count,) = self._connection.execute(_COUNT_PRESSING, (limit,)).fetchone()
        return int(count)

    def unread_by_person(self, limit: int, before: MessageId) -> list[HumanMail]:
        """Mail to `Human` that is unread, newest first."""
        return self._to_person(_UNREAD_BY_PERSON, limit, before)

    def _to_person(self, sql: str, limit: int, before: MessageId) -> list[HumanMail]:
        rows = self._connection.execute(sql, {"limit": limit, "before": before})
        return [HumanMail(row[0], row[1], row[2], to_head(row[3:])) for row in rows]

    def count_to_person(self) -> tuple[int, int]:
        """How much mail to `Human` is unread, and how much owes an acknowledgement, over all projects."""
        unread, owed = self._connection.execute(_PERSONS).fetchone()
        return int(unread), int(owed)

    def states_of_person(
        self, message_ids: Collection[MessageId]
    ) -> dict[MessageId, tuple[Micros | None, Micros | None]]:
        """Of those messages that came to a `Human`: when it read and acknowledged each."""
        rows = ((one, self._connection.execute(_STATE, (one,)).fetchone()) for one in message_ids)
        return {message_id: (row[0], row[1]) for message_id, row in rows if row is not None}

    def reasons_of_person(self, message_ids: Collection[MessageId]) -> dict[MessageId, HumanReason]:
        """Of those messages that came to a `Human`: why."""
        rows = ((one, self._connection.execute(_REASON, (one,)).fetchone()) for one in message_ids)
        return {one: HumanReason(RecipientKind(row[0]), bool(row[1])) for one, row in rows if row is not None}

    def copies_of_person(self, message_ids: Collection[MessageId]) -> list[HumanCopy]:
        """The copies of those messages that came to a `Human`, of whatever project, withdrawn ones too."""
        rows = (self._connection.execute(_COPIES, (one, MOST_COPIES)).fetchall() for one in message_ids)
        return [HumanCopy._make(row) for found in rows for row in found]


def _among(agents: Collection[AgentId] | None) -> str | None:
    return None if agents is None else f",{','.join(map(str, agents))},"

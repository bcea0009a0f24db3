"""Threads: which a project or an agent has, by their newest mail, and what is to be said of each.

Lists are made of the newest mail alone, so that they cost the same in a large store as in a small one: a thread whose
last message is older than the newest `SCANNED` is not listed, and is still read by its id.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import AgentId, MessageId, ProjectId
from mcp_agent_mail.domain.messages import MessageHead
from mcp_agent_mail.domain.threads import root_of_thread, topic_key
from mcp_agent_mail.store.mail.messages import HEAD_COLUMNS, HEAD_JOINS, to_head

SCANNED = 2_000
"""The newest messages that lists are made of: of the project, or received and sent by the agent, each."""
COUNTED = 10_000
"""Messages of one thread are counted up to here."""
PARTICIPANTS = 10

# A message without a thread is the beginning of the one that is named by its id, as soon as somebody answers it.
_RECENT = """
SELECT thread_id FROM (
    SELECT thread_id FROM message_projects WHERE project_id = :project
    ORDER BY message_id DESC LIMIT :scanned) AS newest
UNION SELECT thread_id FROM (
    SELECT thread_id FROM message_projects INDEXED BY message_projects_late WHERE project_id = :project AND is_late = 1
    ORDER BY delivered_ts DESC, message_id DESC LIMIT :scanned) AS late
"""
_ON_TOPIC = """
SELECT thread_id FROM (
    SELECT thread_id FROM message_projects INDEXED BY message_projects_topic
    WHERE project_id = :project AND topic_key = :topic ORDER BY message_id DESC LIMIT :scanned) AS newest
"""
_OF_AGENT = """
SELECT thread_id FROM (
    SELECT coalesce(thread_id, CAST(message_id AS TEXT)) AS thread_id FROM recipients INDEXED BY {index}
    WHERE agent_id = :agent AND delivery_seq IS NOT NULL {received} ORDER BY delivery_seq DESC LIMIT :scanned
) AS got
UNION SELECT thread_id FROM (
    SELECT coalesce(thread_id, CAST(id AS TEXT)) AS thread_id, topic FROM messages INDEXED BY messages_sender
    WHERE sender_id = :agent ORDER BY id DESC LIMIT :scanned
) AS wrote {sent}
"""
_LIST = """
SELECT found.thread_id, last.message_id, last.delivered_ts, count(*) OVER ()
FROM ({source}) AS found
CROSS JOIN message_projects last ON last.project_id = :project AND last.message_id = (
    SELECT message_id FROM message_projects INDEXED BY message_projects_thread
    WHERE thread_id = found.thread_id AND project_id = :project ORDER BY delivery_seq DESC, message_id DESC LIMIT 1)
WHERE :since IS NULL OR last.delivered_ts > :since
ORDER BY last.delivery_seq DESC, last.message_id DESC LIMIT :limit
"""
_IN_THREAD = "FROM message_projects INDEXED BY message_projects_thread WHERE thread_id = ? AND project_id = ?"
_COUNT = f"SELECT count(*) FROM (SELECT 1 {_IN_THREAD} LIMIT ?) AS counted"
_FIRST = f"SELECT message_id {_IN_THREAD} ORDER BY delivery_seq, message_id LIMIT 1"
_NEWEST = f"SELECT message_id {_IN_THREAD} ORDER BY delivery_seq DESC, message_id DESC LIMIT ?"
_ROOT = "SELECT 1 FROM message_projects WHERE project_id = ? AND message_id = ? AND thread_id IS NOT ?"
_HEADS = f"SELECT {HEAD_COLUMNS} FROM messages m {HEAD_JOINS} WHERE m.id IN (SELECT value FROM json_each(?))"
# Not by position, which would read a broadcast to its end.
_ADDRESSED = """
SELECT r.message_id, a.name, a.project_id, p.slug FROM json_each(:messages) looked
CROSS JOIN recipients r ON r.message_id = looked.value AND r.agent_id IN (
    SELECT agent_id FROM recipients
    WHERE message_id = looked.value AND delivery_seq IS NOT NULL AND kind <> 'bcc' ORDER BY agent_id LIMIT :each)
CROSS JOIN agents a ON a.id = r.agent_id CROSS JOIN projects p ON p.id = a.project_id
ORDER BY r.message_id, r.agent_id
"""
_UNREAD = """
SELECT coalesce(thread_id, CAST(message_id AS TEXT)) AS thread_id, count(*) FROM (
    SELECT thread_id, message_id FROM recipients INDEXED BY recipients_unread
    WHERE agent_id = ? AND delivery_seq IS NOT NULL AND read_ts IS NULL ORDER BY delivery_seq DESC LIMIT ?
) AS newest GROUP BY 1
"""


class ThreadParticipant(NamedTuple):
    """Somebody who wrote in a thread, or was openly written to."""

    name: str
    project_id: ProjectId
    project_slug: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedThread:
    """A thread as its project has it. `last_ts` is when its newest message could first be read there.

    `participants` are those of its newest mail, who wrote before who was written to, each newest first.
    """

    thread_id: str
    first: MessageHead
    last: MessageHead
    last_ts: Micros
    messages: int
    participants: list[ThreadParticipant]


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadFilter:
    """Which of a project's threads: those that the agent takes part in, with mail on a topic, with mail after `since`.

    Without any, all.
    """

    agent_id: AgentId | None = None
    topic: str | None = None
    since: Micros | None = None


class Threads:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def list_(self, project_id: ProjectId, keep: ThreadFilter, *, limit: int) -> tuple[list[ListedThread], int]:
        """The threads with the newest mail, newest first, and how many there are with those beyond `limit`."""
        key = {
            "project": project_id,
            "agent": keep.agent_id,
            "topic": None if keep.topic is None else topic_key(keep.topic),
            "since": keep.since,
            "limit": limit,
            "scanned": SCANNED,
        }
        rows = self._connection.execute(_LIST.format(source=_source(keep)), key).fetchall()
        if not rows:
            return [], 0
        return list(self._shown(project_id, [row[:3] for row in rows])), rows[0][3]

    def unread(self, agent_id: AgentId) -> Mapping[str, int]:
        """How much of the agent's newest unread mail (`SCANNED` messages) is in which thread."""
        return dict(self._connection.execute(_UNREAD, (agent_id, SCANNED)).fetchall())

    def _shown(self, project_id: ProjectId, rows: Sequence[tuple[str, MessageId, Micros]]) -> Iterator[ListedThread]:
        looked_at = max(2, min(PARTICIPANTS, SCANNED // len(rows)))
        firsts, newest, sizes = {}, {}, {}
        for thread_id, _, _ in rows:
            key = (thread_id, project_id)
            root = self._root(project_id, thread_id)
            ((firsts[thread_id],),) = self._connection.execute(_FIRST, key)
            ((sizes[thread_id],),) = self._connection.execute(_COUNT, (*key, COUNTED))
            newest[thread_id] = [found for (found,) in self._connection.execute(_NEWEST, (*key, looked_at))]
            if root is not None:
                firsts[thread_id] = root
                sizes[thread_id] += 1
                newest[thread_id].append(root)
        heads = self._heads({*firsts.values(), *(found for ids in newest.values() for found in ids)})
        addressed = self._addressed(heads)
        for thread_id, last_id, last_ts in rows:
            yield ListedThread(
                thread_id=thread_id,
                first=heads[firsts[thread_id]],
                last=heads[last_id],
                last_ts=last_ts,
                messages=sizes[thread_id],
                participants=_participants([heads[found] for found in newest[thread_id]], addressed),
            )

    def _root(self, project_id: ProjectId, thread_id: str) -> MessageId | None:
        root = root_of_thread(thread_id)
        found = root and self._connection.execute(_ROOT, (project_id, root, thread_id)).fetchone()
        return root if found else None

    def _heads(self, ids: Collection[MessageId]) -> dict[MessageId, MessageHead]:
        rows = self._connection.execute(_HEADS, (json.dumps(list(ids)),))
        return {head.id: head for head in map(to_head, rows)}

    def _addressed(self, ids: Collection[MessageId]) -> Mapping[MessageId, list[ThreadParticipant]]:
        found: dict[MessageId, list[ThreadParticipant]] = {}
        key = {"messages": json.dumps(list(ids)), "each": PARTICIPANTS}
        for row in self._connection.execute(_ADDRESSED, key):
            found.setdefault(row[0], []).append(ThreadParticipant._make(row[1:]))
        return found


def _source(keep: ThreadFilter) -> str:
    if keep.agent_id is not None:
        on_topic = keep.topic is not None
        return _OF_AGENT.format(
            index="recipients_topic" if on_topic else "recipients_inbox",
            received="AND topic_key = :topic" if on_topic else "",
            sent="WHERE lower(topic) = :topic" if on_topic else "",
        )
    return _RECENT if keep.topic is None else _ON_TOPIC


def _participants(
    newest_first: Sequence[MessageHead], addressed: Mapping[MessageId, list[ThreadParticipant]]
) -> list[ThreadParticipant]:
    wrote = [ThreadParticipant(head.sender_name, head.project_id, head.project_slug) for head in newest_first]
    got = [one for head in newest_first for one in addressed.get(head.id, ())]
    return list(dict.fromkeys([*wrote, *got]))[:PARTICIPANTS]

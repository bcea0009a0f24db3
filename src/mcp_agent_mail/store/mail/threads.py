"""Threads: which a project or an agent has, by their newest mail, and what is to be said of each.

Lists are made of the newest mail alone, so that they cost the same in a large store as in a small one: a thread whose
last message is older than the newest `SCANNED` is not listed, and is still read by its id.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import AgentId, MessageId, ProjectId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.messages import MessageHead
from mcp_agent_mail.domain.threads import root_of_thread, topic_key
from mcp_agent_mail.store.engine.port import Connection
from mcp_agent_mail.store.mail.messages import HEAD_COLUMNS, HEAD_JOINS, to_head
from mcp_agent_mail.store.mail.passed_ends import still_valid

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
_HEAD = f"SELECT {HEAD_COLUMNS} FROM messages m {HEAD_JOINS} WHERE m.id = ?"
# Not by position, which would read a broadcast to its end.
_ADDRESSED = """
SELECT a.name, a.project_id, p.slug FROM recipients r
CROSS JOIN agents a ON a.id = r.agent_id CROSS JOIN projects p ON p.id = a.project_id
WHERE r.message_id = ? AND r.kind <> 'bcc' ORDER BY r.agent_id LIMIT ?
"""
_UNREAD = f"""
SELECT coalesce(thread_id, CAST(message_id AS TEXT)) AS thread_id, count(*) FROM (
    SELECT thread_id, message_id FROM recipients INDEXED BY recipients_unread
    WHERE agent_id = ? AND delivery_seq IS NOT NULL AND read_ts IS NULL AND expired_ts IS NULL AND {still_valid()}
    ORDER BY delivery_seq DESC LIMIT ?
) AS newest GROUP BY 1
"""


class ThreadParty(NamedTuple):
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
    participants: list[ThreadParty]


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadFilter:
    """Which of a project's threads: those that the agent takes part in, with mail on a topic, with mail after `since`.

    Without any, all.
    """

    agent_id: AgentId | None = None
    topic: str | None = None
    since: Micros | None = None


class Threads:
    """Reads alone. Who asks, and whether it may, is the caller's matter: what is told here is for the whole project, so
    no blind copy names its holder. Whoever stands in `to` or `cc` takes part, whatever became of the copy: that a copy
    is held is told to nobody by leaving its holder out.
    """

    def __init__(self, connection: Connection) -> None:
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
        looked_at = max(2, min(PARTICIPANTS, SCANNED // len(rows)))
        listed = [
            self._look(project_id, thread_id, last_id, last_ts, looked_at) for thread_id, last_id, last_ts, _ in rows
        ]
        return listed, rows[0][3]

    def unread(self, agent_id: AgentId) -> Mapping[str, int]:
        """How much of the agent's newest unread mail (`SCANNED` messages) is in which thread."""
        return dict(self._connection.execute(_UNREAD, (agent_id, SCANNED)).fetchall())

    def _look(
        self, project_id: ProjectId, thread_id: str, last_id: MessageId, last_ts: Micros, looked_at: int
    ) -> ListedThread:
        key = (thread_id, project_id)
        root = self._root(project_id, thread_id)
        ((size,),) = self._connection.execute(_COUNT, (*key, COUNTED))
        ((first_id,),) = self._connection.execute(_FIRST, key)
        newest = [MessageId(found) for (found,) in self._connection.execute(_NEWEST, (*key, looked_at))]
        heads = {found: self._head(found) for found in (last_id, root or first_id, *newest, *([root] if root else []))}
        return ListedThread(
            thread_id=thread_id,
            first=heads[root or first_id],
            last=heads[last_id],
            last_ts=last_ts,
            messages=size + (root is not None),
            participants=self._participants([heads[found] for found in (*newest, *([root] if root else []))]),
        )

    def _root(self, project_id: ProjectId, thread_id: str) -> MessageId | None:
        root = root_of_thread(thread_id)
        found = root and self._connection.execute(_ROOT, (project_id, root, thread_id)).fetchone()
        return root if found else None

    def _head(self, message_id: MessageId) -> MessageHead:
        return to_head(self._connection.execute(_HEAD, (message_id,)).fetchone())

    def _participants(self, newest_first: Sequence[MessageHead]) -> list[ThreadParty]:
        wrote = (ThreadParty(head.sender_name, head.project_id, head.project_slug) for head in newest_first)
        found = dict.fromkeys(wrote)
        for head in newest_first:
            if len(found) >= PARTICIPANTS:
                break
            rows = self._connection.execute(_ADDRESSED, (head.id, PARTICIPANTS))
            found.update(dict.fromkeys(map(ThreadParty._make, rows)))
        return list(found)[:PARTICIPANTS]


def _source(keep: ThreadFilter) -> str:
    if keep.agent_id is not None:
        on_topic = keep.topic is not None
        return _OF_AGENT.format(
            index="recipients_topic" if on_topic else "recipients_inbox",
            received="AND topic_key = :topic" if on_topic else "",
            sent="WHERE lower(topic) = :topic" if on_topic else "",
        )
    return _RECENT if keep.topic is None else _ON_TOPIC

"""Messages and their recipients: storing them, and reading them by id, thread, topic and sender."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import MOST_NUMBER, AgentId, MessageId, ProjectId
from mcp_agent_mail.domain.attachments import from_json
from mcp_agent_mail.domain.messages import (
    GOOD,
    Addressee,
    Importance,
    Message,
    MessageHead,
    NewMessage,
    NewRecipient,
    Recipient,
    RecipientKind,
    Standing,
    Terms,
)
from mcp_agent_mail.domain.threads import topic_key
from mcp_agent_mail.store.doors.wire_ids import to_place
from mcp_agent_mail.store.engine.port import Connection
from mcp_agent_mail.store.mail.delivery import PastMail, add_message
from mcp_agent_mail.store.mail.passed_ends import true_end
from mcp_agent_mail.store.mail.successors import standing_successor

_FIND = """
SELECT m.id, m.project_id, p.slug, p.human_key, m.sender_id, a.name, m.thread_id, m.topic, m.subject, m.importance,
       m.ack_required, m.created_ts, m.reply_to, m.is_system, m.body_md, m.scope, m.purged_ts, t.attachments,
       s.valid_until_ts, s.supersedes, s.withdrawn_ts, s.withdrawn_reason,
       w.door, w.external_id, w.sender_id, w.recipient_id, w.answers
FROM messages m JOIN agents a ON a.id = m.sender_id JOIN projects p ON p.id = m.project_id
LEFT JOIN message_attachments t ON t.message_id = m.id LEFT JOIN message_terms s ON s.message_id = m.id
LEFT JOIN wire_ids w ON w.message_id = m.id
WHERE m.id = ?
"""
_RECIPIENTS = """
SELECT r.message_id, r.agent_id, a.project_id, p.slug, a.name, r.kind, r.position, r.delivery_seq, r.delivered_ts,
       r.read_ts, r.ack_ts, a.last_active_ts, r.held_code, r.refused_ts, r.withdrawn_seq,
       r.expired_ts
FROM recipients r JOIN agents a ON a.id = r.agent_id JOIN projects p ON p.id = a.project_id
WHERE r.message_id = ? ORDER BY r.position, r.agent_id
"""
_ADDRESSED = f"""
SELECT r.message_id, a.name, a.project_id, p.slug, r.kind,
       CASE WHEN r.delivery_seq IS NOT NULL THEN 'delivered' WHEN r.withdrawn_ts IS NOT NULL THEN 'withdrawn'
            WHEN r.refused_ts IS NOT NULL THEN 'refused'
            WHEN {true_end("r")} IS NOT NULL THEN 'expired' ELSE 'held' END,
       r.superseded_by IS NOT NULL
FROM recipients r JOIN agents a ON a.id = r.agent_id JOIN projects p ON p.id = a.project_id
WHERE r.message_id IN (SELECT value FROM json_each(?))
ORDER BY r.message_id DESC, r.position, r.agent_id LIMIT ?
"""
_IS_RECIPIENT = "SELECT 1 FROM recipients WHERE message_id = ? AND agent_id = ? AND delivery_seq IS NOT NULL"
_IS_OPEN_TO = "SELECT 1 FROM message_projects WHERE project_id = ? AND message_id = ?"
_BODIES = "SELECT id, body_md FROM messages WHERE id IN (SELECT value FROM json_each(?))"
_COMMITS = """
SELECT o.message_id, c.hexsha, c.summary, c.authored_ts FROM outbox o JOIN commits c ON c.id = o.commit_id
WHERE o.message_id IN (SELECT value FROM json_each(?)) AND o.project_id = ? AND o.kind = 'mail'
ORDER BY o.seq
"""
# What replaced the reader's own copy; for others the first that whoever reads `project` may read. One that is held
# replaces nothing yet.
_STANDING = f"""
SELECT CASE WHEN r.read_ts IS NULL THEN {true_end("r")} END, s.withdrawn_ts, s.withdrawn_reason,
       coalesce({standing_successor("r")}, (
    SELECT min(n.message_id) FROM message_terms n INDEXED BY message_terms_supersedes
    CROSS JOIN message_projects mp ON mp.project_id = :project AND mp.message_id = n.message_id
    WHERE n.supersedes = :message))
FROM messages m LEFT JOIN message_terms s ON s.message_id = m.id
LEFT JOIN recipients r ON r.message_id = m.id AND r.agent_id = :reader
WHERE m.id = :message
"""
_PURGED = "SELECT purged_ts FROM messages WHERE id = ?"

HEAD_COLUMNS = """m.id, m.project_id, p.slug, a.name, m.thread_id, m.topic, m.subject, m.importance, m.ack_required,
       m.created_ts, m.reply_to, m.is_system, m.body_bytes, t.attachments, terms.valid_until_ts, terms.supersedes"""
# CROSS JOIN and INDEXED BY pin the plan: statistics must never turn the walk of a page into a scan.
HEAD_JOINS = """CROSS JOIN agents a ON a.id = m.sender_id CROSS JOIN projects p ON p.id = m.project_id
LEFT JOIN message_attachments t ON t.message_id = m.id LEFT JOIN message_terms terms ON terms.message_id = m.id"""

_HEAD = f"SELECT {HEAD_COLUMNS} FROM messages m {HEAD_JOINS} WHERE m.id = ?"
_PLACE = """
SELECT delivery_seq, message_id FROM message_projects WHERE project_id = :project AND message_id = :message
UNION ALL
SELECT min(r.withdrawn_seq), r.message_id FROM recipients r
JOIN messages m ON m.id = r.message_id JOIN agents a ON a.id = r.agent_id
WHERE r.message_id = :message AND r.withdrawn_seq IS NOT NULL AND :project IN (m.project_id, a.project_id)
GROUP BY r.message_id LIMIT 1
"""
_RECENT_THREADS = """
SELECT thread_id FROM (
    SELECT thread_id, message_id FROM message_projects WHERE project_id = ? ORDER BY message_id DESC LIMIT ?
) AS mail WHERE thread_id IS NOT NULL GROUP BY thread_id ORDER BY max(message_id) DESC
"""
_THREAD_NEWEST = "SELECT max(delivery_seq) FROM message_projects WHERE thread_id = ? AND project_id = ?"
_THREAD_PROJECT = "SELECT min(project_id) FROM message_projects WHERE thread_id = ? AND project_id > ?"
_TOPIC = f"""
SELECT mp.delivered_ts, mp.is_late, {HEAD_COLUMNS} FROM message_projects mp INDEXED BY message_projects_topic
CROSS JOIN messages m ON m.id = mp.message_id {HEAD_JOINS}
WHERE mp.project_id = :project AND mp.topic_key = :topic_key
  AND (mp.is_late = 0 OR :since IS NULL OR mp.delivered_ts > :since) ORDER BY mp.message_id DESC LIMIT :limit
"""
_TOPIC_LATE = f"""
SELECT {HEAD_COLUMNS} FROM message_projects mp INDEXED BY message_projects_late
CROSS JOIN messages m ON m.id = mp.message_id {HEAD_JOINS}
WHERE mp.project_id = :project AND mp.is_late = 1 AND mp.delivered_ts > :since AND mp.topic_key = :topic_key
ORDER BY mp.delivered_ts DESC, mp.message_id DESC LIMIT :limit
"""
_SENT_AT = "CASE mp.is_late WHEN 0 THEN mp.delivered_ts ELSE m.created_ts END"
_SENT = f"""
SELECT {_SENT_AT}, coalesce(mp.is_late, 1), {HEAD_COLUMNS}
FROM messages m INDEXED BY messages_sender
%s JOIN message_projects mp ON mp.project_id = m.project_id AND mp.message_id = m.id {HEAD_JOINS}
WHERE m.sender_id = :sender AND (mp.is_late = 0 OR :since IS NULL OR {_SENT_AT} > :since)
ORDER BY m.id DESC LIMIT :limit
"""
_SENT_OPENLY = _SENT % "CROSS"
_SENT_OR_HELD = _SENT % "LEFT"

_MAX_PROJECTS_OF_THREAD = 20


class MailCommit(NamedTuple):
    """The commit of an archive that holds a message as it is now."""

    hexsha: str
    summary: str
    authored_ts: Micros


class DeliveryPosition(NamedTuple):
    """Where a message stands in the order in which a project's mail could first be read: newer mail comes behind."""

    delivery_seq: int
    message_id: int


BEGINNING = DeliveryPosition(-1, 0)
END = DeliveryPosition(MOST_NUMBER, MOST_NUMBER)

MAX_ADDRESSEES = 20_000
"""Of one list of messages. A message has 5,500 at most (a broadcast and 500 named), so three always fit."""


def to_head(row: Sequence[Any]) -> MessageHead:
    """From a row of `HEAD_COLUMNS`. (Any: SQLite's rows are untyped.)"""
    return MessageHead._make(row)


def _ids(ids: Iterable[int]) -> str:
    return json.dumps(list(ids))


def _recipient(row: Sequence[Any]) -> Recipient:
    return Recipient(
        message_id=row[0],
        agent_id=row[1],
        project_id=row[2],
        project_slug=row[3],
        name=row[4],
        kind=RecipientKind(row[5]),
        position=row[6],
        delivery_seq=row[7],
        delivered_ts=row[8],
        read_ts=row[9],
        ack_ts=row[10],
        last_active_ts=row[11],
        held_code=row[12],
        refused_ts=row[13],
        withdrawn_seq=row[14],
        expired_ts=row[15],
    )


class Messages:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def add(
        self, new: NewMessage, recipients: Sequence[NewRecipient], now: Micros, past: PastMail | None = None
    ) -> tuple[Message, list[Recipient]]:
        """As `delivery.add_message`: stored, and delivered to those who are not held."""
        return add_message(self._connection, new, recipients, now, past)

    def find(self, message_id: MessageId) -> Message | None:
        """With its body; one that was purged too. Who may read it is the caller's to know."""
        row = self._connection.execute(_FIND, (message_id,)).fetchone()
        if row is None:
            return None
        return Message(
            id=row[0],
            project_id=row[1],
            project_slug=row[2],
            project_key=row[3],
            sender_id=row[4],
            sender_name=row[5],
            thread_id=row[6],
            topic=row[7],
            subject=row[8],
            importance=Importance(row[9]),
            ack_required=bool(row[10]),
            created_ts=row[11],
            reply_to=row[12],
            is_system=bool(row[13]),
            body_md=row[14],
            is_private=f"p{row[1]}" not in row[15].split(),
            purged_ts=row[16],
            attachments=from_json(row[17]),
            terms=Terms(valid_until=row[18], supersedes=row[19], withdrawn_ts=row[20], withdrawn_reason=row[21]),
            wire_place=None if row[22] is None else to_place(row[22:]),
        )

    def find_head(self, message_id: MessageId) -> MessageHead | None:
        row = self._connection.execute(_HEAD, (message_id,)).fetchone()
        return None if row is None else to_head(row)

    def recipients(self, message_id: MessageId) -> list[Recipient]:
        """All recipients of the message, blind and held ones too, in the order addressed."""
        return [_recipient(row) for row in self._connection.execute(_RECIPIENTS, (message_id,))]

    def addressees(
        self, message_ids: Collection[MessageId], *, limit: int = MAX_ADDRESSEES
    ) -> dict[MessageId, list[Addressee]]:
        """Who each message is addressed to, blind and held ones too, in the order addressed; newest message first.

        At most `limit` in all: the messages that they do not cover completely are absent.
        """
        found: dict[MessageId, list[Addressee]] = {}
        rows = self._connection.execute(_ADDRESSED, (_ids(message_ids), limit + 1)).fetchall()
        for row in rows[:limit]:
            found.setdefault(row[0], []).append(Addressee._make(row[1:]))
        if len(rows) > limit:
            found.pop(rows[limit][0], None)
        return found

    def is_recipient(self, message_id: MessageId, agent_id: AgentId) -> bool:
        return self._connection.execute(_IS_RECIPIENT, (message_id, agent_id)).fetchone() is not None

    def is_open_to(self, message_id: MessageId, project_id: ProjectId) -> bool:
        """Whether every agent of the project may read the message: it was sent from there, or to or cc
        somebody there.
        """
        return self._connection.execute(_IS_OPEN_TO, (project_id, message_id)).fetchone() is not None

    def open_projects(
        self, message_ids: Collection[MessageId], project_ids: Collection[ProjectId]
    ) -> frozenset[ProjectId]:
        """Those of the projects that any of the messages is open to."""
        return frozenset(one for one in project_ids if any(self.is_open_to(message, one) for message in message_ids))

    def bodies(self, message_ids: Iterable[MessageId]) -> dict[MessageId, str]:
        """The bodies of the messages. The caller bounds the bytes: `MessageHead.body_bytes` says them beforehand."""
        return dict(self._connection.execute(_BODIES, (_ids(message_ids),)).fetchall())

    def commits(self, project_id: ProjectId, message_ids: Iterable[MessageId]) -> dict[MessageId, MailCommit]:
        """The commit that holds each message in this project's archive; those pending are absent."""
        rows = self._connection.execute(_COMMITS, (_ids(message_ids), project_id))
        return {message_id: MailCommit(*commit) for message_id, *commit in rows}

    def standings(
        self, message_ids: Iterable[MessageId], *, reader: AgentId | None, project: ProjectId | None
    ) -> dict[MessageId, Standing]:
        """What has become of those messages of which there is something to say, for `reader` and its copy, or for
        nobody in particular; a message that replaces one is told of where it is mail of `project`.
        """
        found = {}
        for message_id in message_ids:
            key = {"message": message_id, "reader": reader, "project": project}
            row = self._connection.execute(_STANDING, key).fetchone()
            if row is not None and row != GOOD:
                found[message_id] = Standing._make(row)
        return found

    def purged_ts(self, message_id: MessageId) -> Micros | None:
        """When the message was purged; None while it has its text."""
        row = self._connection.execute(_PURGED, (message_id,)).fetchone()
        return None if row is None else row[0]

    def place(self, project_id: ProjectId, message_id: MessageId) -> DeliveryPosition | None:
        """Where in the order of the project's mail a message stands, or stood; None when it is not its mail."""
        row = self._connection.execute(_PLACE, {"project": project_id, "message": message_id}).fetchone()
        return None if row is None else DeliveryPosition._make(row)

    def recent_threads(self, project_id: ProjectId, messages: int = 2_000) -> list[str]:
        """The threads among the newest `messages` that every agent of the project may read, newest first."""
        return [thread for (thread,) in self._connection.execute(_RECENT_THREADS, (project_id, messages))]

    def newest_of_thread(self, project_id: ProjectId, thread_id: str) -> int:
        """The delivery number of the project's latest mail that carries this thread id; 0 without any."""
        (newest,) = self._connection.execute(_THREAD_NEWEST, (thread_id, project_id)).fetchone()
        return int(newest or 0)

    def projects_of_thread(self, thread_id: str) -> list[ProjectId]:
        """Where the thread has mail, at most 20 projects, in the order of their ids."""
        found: list[ProjectId] = []
        last = 0
        while len(found) < _MAX_PROJECTS_OF_THREAD:
            (last,) = self._connection.execute(_THREAD_PROJECT, (thread_id, last)).fetchone()
            if last is None:
                break
            found.append(ProjectId(last))
        return found

    def list_topic(
        self, project_id: ProjectId, topic: str, *, since: Micros | None = None, limit: int
    ) -> list[MessageHead]:
        """The project's messages on a topic, newest first, only those delivered after `since`."""
        key = {"project": project_id, "topic_key": topic_key(topic), "since": since, "limit": limit}
        heads = self._newest(_TOPIC, key, since)
        if since is None:
            return heads
        late = (to_head(row) for row in self._connection.execute(_TOPIC_LATE, key))
        both = {head.id: head for head in (*heads, *late)}
        return sorted(both.values(), key=lambda head: head.id, reverse=True)[:limit]

    def list_sent(
        self, sender_id: AgentId, *, since: Micros | None = None, limit: int, with_held: bool = False
    ) -> list[MessageHead]:
        """What the agent sent, newest first, only what was sent after `since`.

        `with_held` for its own eyes: also what nobody has got yet, or ever will.
        """
        key = {"sender": sender_id, "since": since, "limit": limit}
        return self._newest(_SENT_OR_HELD if with_held else _SENT_OPENLY, key, since)

    def _newest(self, sql: str, key: Mapping[str, object], since: Micros | None) -> list[MessageHead]:
        """Rows lead with their time and whether they are late. The times of those that are not never fall: the first
        one too old ends the walk.
        """
        heads: list[MessageHead] = []
        for row in self._connection.execute(sql, key):
            if since is not None and not row[1] and row[0] <= since:
                break
            heads.append(to_head(row[2:]))
        return heads

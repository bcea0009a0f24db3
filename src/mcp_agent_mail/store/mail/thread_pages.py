"""What pages of threads are made of: a project's open mail in one thread, and which threads an event is about.

Nobody who asks for a page may see more than the project as a whole: blind copies, private and held mail are not read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import MessageId, OutboxSeq, ProjectId
from mcp_agent_mail.domain.archive_format.names import name_in
from mcp_agent_mail.domain.archive_format.thread_pages import (
    MAX_COUNTED,
    MAX_MESSAGES,
    MAX_NAMES,
    PageMessage,
    ThreadHead,
    thread_page,
)
from mcp_agent_mail.domain.attachments import from_json
from mcp_agent_mail.domain.messages import Importance
from mcp_agent_mail.domain.threads import root_of_thread
from mcp_agent_mail.store.engine.port import Connection

_AT_ONCE = 500
_IN_THREAD = "FROM message_projects INDEXED BY message_projects_thread WHERE thread_id = ? AND project_id = ?"
_NEWEST = f"SELECT delivery_seq, message_id {_IN_THREAD} ORDER BY delivery_seq DESC, message_id DESC LIMIT ?"
_FIRST = f"SELECT message_id {_IN_THREAD} ORDER BY delivery_seq, message_id LIMIT 1"
_COUNT = f"SELECT count(*) FROM (SELECT 1 {_IN_THREAD} LIMIT ?) AS counted"
_ROOT = """
SELECT delivery_seq, message_id FROM message_projects
WHERE project_id = ? AND message_id = ? AND thread_id IS NOT ?
"""
_MESSAGE = """
SELECT m.id, a.name, m.project_id, p.slug, m.subject, m.body_md, m.importance, m.ack_required, m.created_ts,
       CASE mp.is_late WHEN 1 THEN mp.delivered_ts END, m.reply_to, m.purged_ts, t.attachments
FROM messages m CROSS JOIN message_projects mp ON mp.project_id = ? AND mp.message_id = m.id
CROSS JOIN agents a ON a.id = m.sender_id CROSS JOIN projects p ON p.id = m.project_id
LEFT JOIN message_attachments t ON t.message_id = m.id
WHERE m.id = ?
"""
# Not by position, which would read a broadcast to its end.
_ADDRESSED = """
SELECT r.kind, r.position, a.name, a.project_id, p.slug FROM recipients r
CROSS JOIN agents a ON a.id = r.agent_id CROSS JOIN projects p ON p.id = a.project_id
WHERE r.message_id = ? AND r.kind <> 'bcc' ORDER BY r.agent_id LIMIT ?
"""
_SUBJECT = "SELECT m.subject, p.slug FROM messages m JOIN projects p ON p.id = ? WHERE m.id = ?"
_ABOUT = """
SELECT m.thread_id, CASE WHEN EXISTS (
    SELECT 1 FROM message_projects INDEXED BY message_projects_thread
    WHERE thread_id = CAST(m.id AS TEXT) AND project_id = ?) THEN CAST(m.id AS TEXT) END
FROM messages m WHERE m.id = ? OR m.id = (SELECT supersedes FROM message_terms WHERE message_id = ?)
"""
_MAIL_SINCE = """
SELECT seq, message_id FROM outbox NOT INDEXED
WHERE seq > ? AND seq <= ? AND project_id = ? AND kind = 'mail' ORDER BY seq LIMIT ?
"""
_NEWEST_EVENT = """
SELECT max(seq) FROM outbox INDEXED BY outbox_message WHERE message_id = ? AND project_id = ? AND kind = 'mail'
"""
_EACH = """
SELECT DISTINCT thread_id, project_id FROM message_projects INDEXED BY message_projects_thread
WHERE thread_id IS NOT NULL AND (thread_id, project_id) > (?, ?) ORDER BY thread_id, project_id LIMIT ?
"""


class ThreadPages:
    """Reads alone."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def render(self, project_id: ProjectId, thread_id: str) -> bytes | None:
        """The page of a thread as the project's archive has it; None where the project has no mail in it."""
        newest = self._newest(project_id, thread_id)
        if not newest:
            return None
        ((size,),) = self._connection.execute(_COUNT, (thread_id, project_id, MAX_COUNTED + 1))
        ((first,),) = self._connection.execute(_FIRST, (thread_id, project_id))
        root = self._root(project_id, thread_id)
        ((subject, slug),) = self._connection.execute(_SUBJECT, (project_id, root[1] if root else first))
        count = min(size + (root is not None), MAX_COUNTED + 1)
        head = ThreadHead(thread_id=thread_id, project_slug=slug, subject=subject, messages=count)
        return thread_page(head, (self._message(project_id, message_id) for message_id in newest))

    def newest_event(self, project_id: ProjectId, thread_id: str) -> OutboxSeq:
        """The newest event of this project about a message that the page of the thread may show; 0 for none."""
        newest = 0
        for message_id in self._newest(project_id, thread_id):
            ((seq,),) = self._connection.execute(_NEWEST_EVENT, (message_id, project_id))
            newest = max(newest, seq or 0)
        return OutboxSeq(newest)

    def each(self) -> Iterator[tuple[ProjectId, str]]:
        """Every thread of every project; read in pages."""
        after = ("", 0)
        while rows := self._connection.execute(_EACH, (*after, _AT_ONCE)).fetchall():
            yield from ((ProjectId(project_id), thread_id) for thread_id, project_id in rows)
            after = rows[-1]

    def about(self, project_id: ProjectId, message_ids: Iterable[MessageId]) -> list[str]:
        """The threads that these messages are in, and those that they supersede: their own, and those that are named by
        them.
        """
        found: dict[str, None] = {}
        for message_id in message_ids:
            for row in self._connection.execute(_ABOUT, (project_id, message_id, message_id)):
                found.update(dict.fromkeys(thread_id for thread_id in row if thread_id is not None))
        return list(found)

    def mail_since(
        self, project_id: ProjectId, after: OutboxSeq, up_to: OutboxSeq, *, limit: int
    ) -> tuple[list[MessageId], OutboxSeq]:
        """Of which messages the project's events above `after` tell, and up to which event that is all of them."""
        rows = self._connection.execute(_MAIL_SINCE, (after, up_to, project_id, limit)).fetchall()
        looked_at = OutboxSeq(rows[-1][0]) if len(rows) == limit else up_to
        return [MessageId(message_id) for _, message_id in rows], looked_at

    def _newest(self, project_id: ProjectId, thread_id: str) -> list[int]:
        """The newest messages, newest first. The one that a thread is named by is in it without saying so."""
        found = self._connection.execute(_NEWEST, (thread_id, project_id, MAX_MESSAGES)).fetchall()
        if found and (root := self._root(project_id, thread_id)) is not None:
            found = sorted([*found, root], reverse=True)[:MAX_MESSAGES]
        return [message_id for _, message_id in found]

    def _root(self, project_id: ProjectId, thread_id: str) -> tuple[int, int] | None:
        root = root_of_thread(thread_id)
        found: tuple[int, int] | None = (
            self._connection.execute(_ROOT, (project_id, root, thread_id)).fetchone() if root else None
        )
        return found

    def _message(self, project_id: ProjectId, message_id: int) -> PageMessage:
        row = self._connection.execute(_MESSAGE, (project_id, message_id)).fetchone()
        _, sender, of_project, of_slug, subject, body, importance, ack, created, late, reply_to, purged, carried = row
        named = self._connection.execute(_ADDRESSED, (message_id, MAX_NAMES + 1)).fetchall()
        named.sort(key=_position)
        called = [(kind, name_in(project_id, name, project, slug)) for kind, _, name, project, slug in named]
        return PageMessage(
            id=MessageId(message_id),
            sender=name_in(project_id, sender, of_project, of_slug),
            to=tuple(name for kind, name in called if kind == "to"),
            cc=tuple(name for kind, name in called if kind == "cc"),
            subject=subject,
            body_md=body,
            importance=Importance(importance),
            ack_required=bool(ack),
            created_ts=Micros(created),
            late_ts=None if late is None else Micros(late),
            reply_to=None if reply_to is None else MessageId(reply_to),
            purged_ts=None if purged is None else Micros(purged),
            attachments=from_json(carried),
        )


# `Any`: a row of SQLite.
def _position(row: tuple[Any, ...]) -> int:
    return int(row[1])

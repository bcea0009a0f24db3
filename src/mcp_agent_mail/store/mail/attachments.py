"""What messages carry, which messages carry a content, and what each project's archive keeps of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from mcp_agent_mail.core.ids import AgentId, MessageId, ProjectId
from mcp_agent_mail.domain.attachments import Attachment, StoredContent, to_json
from mcp_agent_mail.store.engine.port import Connection

_ADD = "INSERT INTO message_attachments (message_id, attachments) VALUES (?, ?)"
_CARRY = "INSERT OR IGNORE INTO content_messages (sha256, message_id) VALUES (?, ?)"
_KEEP = "INSERT OR IGNORE INTO project_contents (project_id, sha256, bytes) VALUES (?, ?, ?)"
# CROSS JOIN pins the plan: the end of an index, and two rows by their ids.
_NEWEST = """
SELECT c.message_id, m.project_id, m.sender_id, t.attachments
FROM {} c CROSS JOIN messages m ON m.id = c.message_id
CROSS JOIN message_attachments t ON t.message_id = c.message_id
WHERE c.sha256 = :sha256 {} ORDER BY c.message_id DESC LIMIT 1
"""
_NEWEST_OF_ALL = _NEWEST.format("content_messages", "")
_ANY_OPEN = """
SELECT c.message_id, m.project_id, m.sender_id, t.attachments
FROM content_projects c CROSS JOIN messages m ON m.id = c.message_id
CROSS JOIN message_attachments t ON t.message_id = c.message_id
WHERE c.sha256 = :sha256 LIMIT 1
"""
_NEWEST_OPEN = _NEWEST.format("content_projects", "AND c.project_id = :reader")
_NEWEST_OF_PARTY = _NEWEST.format("content_parties", "AND c.agent_id = :reader")
_KEPT_BYTES = "SELECT coalesce(sum(bytes), 0) FROM project_contents WHERE project_id = ?"
_IS_KEPT = "SELECT 1 FROM project_contents WHERE project_id = ? AND sha256 = ?"
_IS_CARRIED = "SELECT 1 FROM content_messages WHERE sha256 = ? LIMIT 1"
_IS_CARRIED_IN = """
SELECT 1 FROM content_messages c
WHERE c.sha256 = :sha256 AND (
    EXISTS (SELECT 1 FROM messages m WHERE m.id = c.message_id AND m.project_id = :project)
    OR EXISTS (
        SELECT 1 FROM recipients r JOIN agents a ON a.id = r.agent_id
        WHERE r.message_id = c.message_id AND a.project_id = :project AND r.delivery_seq IS NOT NULL))
LIMIT 1
"""
_DROP = "DELETE FROM message_attachments WHERE message_id = ?"
_LEAVE = "DELETE FROM content_messages WHERE sha256 = ? AND message_id = ?"
_FREE = "DELETE FROM project_contents WHERE project_id = ? AND sha256 = ?"


class Carrier(NamedTuple):
    """A message that carries a content: what tells who may see it, and all that it carries, as JSON."""

    id: MessageId
    project_id: ProjectId
    sender_id: AgentId
    attachments: str


class Attachments:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def add(self, message_id: MessageId, attachments: Iterable[Attachment]) -> None:
        """Note what a new message carries: one attachment at least."""
        attachments = tuple(attachments)
        self._connection.execute(_ADD, (message_id, to_json(attachments)))
        carried = [(content.sha256, message_id) for content in _contents(attachments)]
        self._connection.executemany(_CARRY, carried)

    def keep(self, project_id: ProjectId, attachments: Iterable[Attachment]) -> None:
        """The project's archive gets mail that carries these: at the send, or when a held copy is delivered."""
        rows = [(project_id, content.sha256, content.bytes) for content in _contents(attachments)]
        self._connection.executemany(_KEEP, rows)

    def newest(self, sha256: str) -> Carrier | None:
        """The newest message that carries the content, as it is or as an original, whoever may see it."""
        return self._find(_NEWEST_OF_ALL, {"sha256": sha256})

    def any_open(self, sha256: str) -> Carrier | None:
        """A message that carries it and is mail of a project."""
        return self._find(_ANY_OPEN, {"sha256": sha256})

    def newest_open(self, sha256: str, project_id: ProjectId) -> Carrier | None:
        """Likewise, of the mail that every agent of the project may read."""
        return self._find(_NEWEST_OPEN, {"sha256": sha256, "reader": project_id})

    def newest_of_party(self, sha256: str, agent_id: AgentId) -> Carrier | None:
        """Likewise, of what the agent has sent or been delivered."""
        return self._find(_NEWEST_OF_PARTY, {"sha256": sha256, "reader": agent_id})

    def _find(self, query: str, wanted: dict[str, object]) -> Carrier | None:
        row = self._connection.execute(query, wanted).fetchone()
        return None if row is None else Carrier._make(row)

    def is_carried(self, sha256: str) -> bool:
        return self._connection.execute(_IS_CARRIED, (sha256,)).fetchone() is not None

    def kept_bytes(self, project_id: ProjectId) -> int:
        """Of all that the project's archive keeps, each content once."""
        (count,) = self._connection.execute(_KEPT_BYTES, (project_id,)).fetchone()
        return int(count)

    def new_bytes(self, project_id: ProjectId, attachments: Iterable[Attachment]) -> int:
        """By how much `kept_bytes` grows with mail that carries these."""
        contents = _contents(attachments)
        return sum(content.bytes for content in contents if not self.is_kept(project_id, content))

    def is_kept(self, project_id: ProjectId, content: StoredContent) -> bool:
        """Does the project's archive keep it, for whichever mail?"""
        return self._connection.execute(_IS_KEPT, (project_id, content.sha256)).fetchone() is not None

    def drop(self, message_id: MessageId, attachments: Iterable[Attachment]) -> None:
        """The message carries these no more."""
        self._connection.execute(_DROP, (message_id,))
        left = [(content.sha256, message_id) for content in _contents(attachments)]
        self._connection.executemany(_LEAVE, left)

    def free(self, project_id: ProjectId, attachments: Iterable[Attachment]) -> list[StoredContent]:
        """Those contents that no mail of the project carries any more: its archive keeps them no longer."""
        freed = []
        for content in _contents(attachments):
            key = {"sha256": content.sha256, "project": project_id}
            if self._connection.execute(_IS_CARRIED_IN, key).fetchone() is None:
                self._connection.execute(_FREE, (project_id, content.sha256))
                freed.append(content)
        return freed


def _contents(attachments: Iterable[Attachment]) -> list[StoredContent]:
    """Each once."""
    return list({content.sha256: content for one in attachments for content in one.contents}.values())

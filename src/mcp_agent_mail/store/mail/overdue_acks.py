"""Mail that asks for an acknowledgement and has none: who is late, and which messages were told of already.

Delivery times never fall along delivery numbers, so one number says how far all inboxes were looked through.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import MessageId, ProjectId
from mcp_agent_mail.domain.messages import RecipientKind
from mcp_agent_mail.domain.overdue_notices import NotedMessage
from mcp_agent_mail.store.contacts import INTRODUCES_WAITING
from mcp_agent_mail.store.engine.port import Connection
from mcp_agent_mail.store.importing.imported_records import not_imported
from mcp_agent_mail.store.mail.passed_ends import still_valid

_MARK = "SELECT value FROM counters WHERE name = 'overdue'"
_ADVANCE = "UPDATE counters SET value = max(value, ?) WHERE name = 'overdue'"
_DUE = f"""
SELECT delivery_seq, message_id, delivered_ts FROM recipients INDEXED BY recipients_overdue
WHERE delivery_seq > ? AND delivery_seq IS NOT NULL AND ack_required = 1 AND ack_ts IS NULL AND expired_ts IS NULL
  AND {still_valid()} AND {not_imported("recipients.message_id")}
ORDER BY delivery_seq LIMIT ?
"""
_OWED = "r.delivery_seq IS NOT NULL AND r.ack_required = 1"
_IS_LATE = f"r.ack_ts IS NULL AND r.expired_ts IS NULL AND r.delivered_ts <= :until AND {still_valid('r')}"
_ABLE = "a.kind = 'agent' AND a.retired_ts IS NULL"
_LATE = f"""
SELECT r.delivery_seq, r.message_id, a.name, p.slug, r.delivered_ts FROM recipients r INDEXED BY recipients_overdue
CROSS JOIN agents a ON a.id = r.agent_id CROSS JOIN projects p ON p.id = a.project_id
CROSS JOIN messages m ON m.id = r.message_id
WHERE {_OWED} AND {_IS_LATE} AND {_ABLE} AND {not_imported("r.message_id")} AND r.delivery_seq > :after
  AND NOT {INTRODUCES_WAITING}
ORDER BY r.delivery_seq LIMIT :limit
"""
_ASKED = f"""
SELECT coalesce(sum({_IS_LATE}), 0), count(*) FROM recipients r CROSS JOIN agents a ON a.id = r.agent_id
WHERE r.message_id = :message AND {_OWED} AND {_ABLE}
"""
_SILENT_OF = f"""r.message_id = ? AND r.delivery_seq IS NOT NULL AND r.ack_ts IS NULL AND r.expired_ts IS NULL
AND {still_valid("r")} AND r.delivered_ts <= ?"""
_SILENT = f"""
SELECT a.name, a.project_id, p.slug, r.kind, r.read_ts
FROM recipients r CROSS JOIN agents a ON a.id = r.agent_id CROSS JOIN projects p ON p.id = a.project_id
WHERE {_SILENT_OF} ORDER BY r.position, r.agent_id LIMIT ?
"""
_COUNT = f"SELECT count(*), coalesce(sum(r.kind = 'bcc'), 0) FROM recipients r WHERE {_SILENT_OF}"
_NOTED_COLUMNS = """
SELECT n.message_id, m.project_id, m.created_ts, a.name, n.noted_ts, n.escalation
FROM overdue_notices n CROSS JOIN messages m ON m.id = n.message_id CROSS JOIN agents a ON a.id = m.sender_id
"""
_NOTED_MESSAGE = f"{_NOTED_COLUMNS} WHERE n.message_id = ?"
_NOTED_PAGE = f"{_NOTED_COLUMNS} WHERE n.message_id > ? ORDER BY n.message_id LIMIT ?"
_PAGE = 500
_NOTED = "SELECT 1 FROM overdue_notices WHERE message_id = ?"
_NOTE = "INSERT INTO overdue_notices (message_id, noted_ts, escalation) VALUES (?, ?, ?)"


_NotedRow = tuple[int, int, int, str, int, str | None]


class SilentRecipient(NamedTuple):
    """A recipient who has not acknowledged; `read_ts` when it has at least read."""

    name: str
    project_id: ProjectId
    project_slug: str
    kind: RecipientKind
    read_ts: Micros | None


class OverdueCopy(NamedTuple):
    """A copy whose acknowledgement an agent, of the project, owes for longer than it should."""

    delivery_seq: int
    message_id: MessageId
    agent_name: str
    project_slug: str
    delivered_ts: Micros


class AskedAgents(NamedTuple):
    """Of the agents that were asked to acknowledge a message, and are not retired, so many are late."""

    late: int
    all: int


class Overdue:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def due(self, until: Micros, limit: int) -> list[tuple[int, MessageId]]:
        """Copies delivered at `until` or before, not looked at and not acknowledged: each with its delivery number."""
        (mark,) = self._connection.execute(_MARK).fetchone()
        found = []
        for seq, message_id, delivered_ts in self._connection.execute(_DUE, (mark, limit)):
            if delivered_ts > until:
                break
            found.append((seq, MessageId(message_id)))
        return found

    def late(self, until: Micros, *, after: int, limit: int) -> Iterator[OverdueCopy]:
        """Copies delivered at `until` or before whose acknowledgement agents owe, oldest first, behind the delivery
        number `after`; without those that only introduce a contact request which waits.
        """
        values = {"until": until, "after": after, "limit": limit}
        return map(OverdueCopy._make, self._connection.execute(_LATE, values))

    def asked(self, message_id: MessageId, until: Micros) -> AskedAgents:
        """How many agents were asked to acknowledge the message, and had it at `until` without doing so."""
        return AskedAgents._make(self._connection.execute(_ASKED, {"message": message_id, "until": until}).fetchone())

    def advance(self, seq: int) -> None:
        """Note that every copy up to this delivery number was looked at."""
        self._connection.execute(_ADVANCE, (seq,))

    def silent(self, message_id: MessageId, until: Micros, limit: int) -> list[SilentRecipient]:
        """Who has had it since `until` or longer and has not acknowledged, in the order addressed; blind ones too."""
        rows = self._connection.execute(_SILENT, (message_id, until, limit))
        return [SilentRecipient(row[0], row[1], row[2], RecipientKind(row[3]), row[4]) for row in rows]

    def count_silent(self, message_id: MessageId, until: Micros) -> tuple[int, int]:
        """How many have not acknowledged the message, and how many of them are blind recipients."""
        count, blind = self._connection.execute(_COUNT, (message_id, until)).fetchone()
        return int(count), int(blind)

    def is_noted(self, message_id: MessageId) -> bool:
        return self._connection.execute(_NOTED, (message_id,)).fetchone() is not None

    def note(self, message_id: MessageId, now: Micros, escalation: str | None) -> None:
        self._connection.execute(_NOTE, (message_id, now, escalation))

    def find_noted(self, message_id: MessageId) -> NotedMessage | None:
        """What was noted of the message; None when nobody was told of it."""
        row = self._connection.execute(_NOTED_MESSAGE, (message_id,)).fetchone()
        return None if row is None else _noted(row)

    def each_noted(self) -> Iterator[NotedMessage]:
        """Every message that was told of, by id; read in pages."""
        after = 0
        while rows := self._connection.execute(_NOTED_PAGE, (after, _PAGE)).fetchall():
            yield from map(_noted, rows)
            after = rows[-1][0]


def _noted(row: _NotedRow) -> NotedMessage:
    message_id, project_id, created_ts, sender, noted_ts, escalation = row
    return NotedMessage(
        message_id=MessageId(message_id),
        project_id=ProjectId(project_id),
        created_ts=Micros(created_ts),
        sender=sender,
        noted_ts=Micros(noted_ts),
        escalation=escalation,
    )

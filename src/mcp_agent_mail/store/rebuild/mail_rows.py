"""The rows of a message that archives tell of: it itself, whose mail it is since when, its recipients and contents."""

from __future__ import annotations

from collections.abc import Sequence

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import AgentId, ProjectId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.archive_format.artifacts import ArchivedMail
from mcp_agent_mail.domain.doors.ids import NO_BODY, body_digest
from mcp_agent_mail.domain.messages import NO_TERMS, RecipientKind
from mcp_agent_mail.domain.threads import topic_key
from mcp_agent_mail.store.doors.wire_ids import WireIds
from mcp_agent_mail.store.engine.port import Connection

_ADD = """
INSERT INTO messages (id, project_id, sender_id, thread_id, topic, subject, importance, ack_required, created_ts,
                      reply_to, is_system, scope, body_bytes, body_md)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_PURGE = "UPDATE messages SET purged_ts = ?, body_md = ?, body_bytes = ? WHERE id = ?"
_OPEN = """
INSERT INTO message_projects (project_id, message_id, delivered_ts, thread_id, topic_key, delivery_seq, is_late)
VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING
"""
_ADD_RECIPIENT = """
INSERT INTO recipients (message_id, agent_id, kind, position, delivery_seq, delivered_ts, urgent, ack_required,
                        thread_id, topic_key, sender_id, valid_until_ts, held_code, refused_ts, expired_ts)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_ADD_TERMS = """
INSERT INTO message_terms (message_id, valid_until_ts, supersedes, withdrawn_ts, withdrawn_reason)
VALUES (?, ?, ?, ?, ?)
"""
_CARRY = "INSERT INTO message_attachments (message_id, attachments) VALUES (?, ?)"
_CONTENT = "INSERT OR IGNORE INTO content_messages (sha256, message_id) VALUES (?, ?)"
_KEEP = "INSERT OR IGNORE INTO project_contents (project_id, sha256, bytes) VALUES (?, ?, ?)"
_HIGHEST = "SELECT coalesce(max(delivery_seq), 0), coalesce(max(delivered_ts), 0) FROM recipients"
_DELIVER = "UPDATE recipients SET delivery_seq = ?, delivered_ts = ? WHERE message_id = ? AND agent_id = ?"


@dataclass(frozen=True, slots=True, kw_only=True)
class RebuiltRecipient:
    """`is_unnumbered`: it has its copy, and gets a new number."""

    agent_id: AgentId
    project_id: ProjectId
    kind: RecipientKind
    delivery_seq: int | None
    delivered_ts: Micros | None
    held_code: str | None
    refused_ts: Micros | None
    expired_ts: Micros | None = None
    is_unnumbered: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RebuiltMail:
    """A message of project `home`; `recipients` in the order addressed."""

    message: ArchivedMail
    home: ProjectId
    recipients: Sequence[RebuiltRecipient]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Opening:
    """A message becomes mail of a project: with its sending, or later when a held copy is approved."""

    project_id: ProjectId
    delivery_seq: int
    delivered_ts: Micros
    is_late: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Late:
    mail: RebuiltMail
    recipient: RebuiltRecipient


class MailRows:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._late: list[_Late] = []

    def add(self, mail: RebuiltMail, attachments: str | None) -> None:
        """`attachments` as a row keeps them."""
        message = mail.message
        body = message.body_md if message.purged_ts is None else ""
        self._connection.execute(_ADD, _message_row(mail, body))
        key = None if message.topic is None else topic_key(message.topic)
        openings = () if message.is_private else _openings(mail)
        self._connection.executemany(_OPEN, [_opening_row(message, key, opening) for opening in openings])
        if message.purged_ts is not None:
            # Afterwards: what is purged is in no index, and its tombstone's words never were.
            size = len(message.body_md.encode())
            self._connection.execute(_PURGE, (message.purged_ts, message.body_md, size, message.id))
        if message.wire_place is not None:
            digest = body_digest(message.body_md) if message.purged_ts is None else NO_BODY
            WireIds(self._connection).add(message.id, message.wire_place, digest)
        if message.terms != NO_TERMS:
            terms = message.terms
            row = (message.id, terms.valid_until, terms.supersedes, terms.withdrawn_ts, terms.withdrawn_reason)
            self._connection.execute(_ADD_TERMS, row)
        flags = (
            int(message.importance.is_urgent),
            int(message.ack_required),
            message.thread_id,
            key,
            message.sender_id,
            message.terms.valid_until,
        )
        self._connection.executemany(
            _ADD_RECIPIENT,
            [
                (message.id, r.agent_id, r.kind.value, position, r.delivery_seq, r.delivered_ts, *flags, r.held_code,
                 r.refused_ts, r.expired_ts)
                for position, r in enumerate(mail.recipients)
            ],
        )  # fmt: skip
        self._late += [_Late(mail=mail, recipient=r) for r in mail.recipients if r.is_unnumbered]
        if attachments is not None:
            self._carry(mail, attachments)

    def _carry(self, mail: RebuiltMail, attachments: str) -> None:
        message = mail.message
        contents = {content.sha256: content for one in message.attachments for content in one.contents}
        self._connection.execute(_CARRY, (message.id, attachments))
        self._connection.executemany(_CONTENT, [(sha256, message.id) for sha256 in contents])
        reached = (r.project_id for r in mail.recipients if r.delivery_seq is not None or r.is_unnumbered)
        for project_id in dict.fromkeys((mail.home, *reached)):
            self._connection.executemany(_KEEP, [(project_id, one.sha256, one.bytes) for one in contents.values()])

    def deliver_late(self, gap: int) -> None:
        """Give numbers to those who have their copy and no number, `gap` above all others."""
        highest, delivered_ts = self._connection.execute(_HIGHEST).fetchone()
        for seq, late in enumerate(sorted(self._late, key=lambda one: one.mail.message.id), start=highest + gap):
            message, recipient = late.mail.message, late.recipient
            at = max(delivered_ts, message.created_ts)
            self._connection.execute(_DELIVER, (seq, at, message.id, recipient.agent_id))
            if not message.is_private:
                key = None if message.topic is None else topic_key(message.topic)
                of_copy = () if recipient.kind is RecipientKind.BCC else (recipient.project_id,)
                for project_id in dict.fromkeys((late.mail.home, *of_copy)):
                    opening = _Opening(project_id=project_id, delivery_seq=seq, delivered_ts=at, is_late=True)
                    self._connection.execute(_OPEN, _opening_row(message, key, opening))


def _message_row(mail: RebuiltMail, body: str) -> tuple[object, ...]:
    message = mail.message
    return (
        message.id,
        mail.home,
        message.sender_id,
        message.thread_id,
        message.topic,
        message.subject,
        message.importance.value,
        int(message.ack_required),
        message.created_ts,
        message.reply_to,
        int(message.is_system),
        _scope(mail),
        len(body.encode()),
        body,
    )


def _opening_row(message: ArchivedMail, key: str | None, opening: _Opening) -> tuple[object, ...]:
    return (
        opening.project_id,
        message.id,
        opening.delivered_ts,
        message.thread_id,
        key,
        opening.delivery_seq,
        int(opening.is_late),
    )


def _scope(mail: RebuiltMail) -> str:
    """As a send writes it: who may find the message once it is delivered."""
    shown = (r.project_id for r in mail.recipients if r.kind is not RecipientKind.BCC)
    open_to = [] if mail.message.is_private else list(dict.fromkeys((mail.home, *shown)))
    blind = (f"b{r.agent_id}" for r in mail.recipients if r.project_id not in open_to)
    return " ".join((*(f"p{project_id}" for project_id in open_to), *blind))


def _openings(mail: RebuiltMail) -> list[_Opening]:
    """Whose mail the message became, in order: of all who got it with its sending at once, then of each who got it
    later. What comes again changes nothing.
    """
    delivered = sorted((r for r in mail.recipients if r.delivery_seq is not None), key=lambda r: r.delivery_seq or 0)
    at_once = [r for r in delivered if r.held_code is None]
    found = []
    if at_once:
        first = at_once[0]
        shown = (r.project_id for r in mail.recipients if r.kind is not RecipientKind.BCC and r.held_code is None)
        found = [_opening(project_id, first, is_late=False) for project_id in dict.fromkeys((mail.home, *shown))]
    for later in (r for r in delivered if r.held_code is not None):
        of_copy = () if later.kind is RecipientKind.BCC else (later.project_id,)
        found += [_opening(project_id, later, is_late=True) for project_id in dict.fromkeys((mail.home, *of_copy))]
    return found


def _opening(project_id: ProjectId, by: RebuiltRecipient, *, is_late: bool) -> _Opening:
    assert by.delivery_seq is not None, by
    assert by.delivered_ts is not None, by
    return _Opening(project_id=project_id, delivery_seq=by.delivery_seq, delivered_ts=by.delivered_ts, is_late=is_late)

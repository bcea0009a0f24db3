"""Delivery: a message is stored, with a delivery number for each recipient who gets it now."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import field, replace

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import AgentId, MessageId, ProjectId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.messages import NO_TERMS, Message, NewMessage, NewRecipient, Recipient, RecipientKind
from mcp_agent_mail.domain.threads import topic_key
from mcp_agent_mail.store.doors.wire_ids import WireIds
from mcp_agent_mail.store.engine.port import Connection
from mcp_agent_mail.store.ladder import Ladder
from mcp_agent_mail.store.mail.attachments import Attachments

_DRAW = """
UPDATE counters SET value = CASE name WHEN 'delivery' THEN value + :count ELSE max(value, :now) END
WHERE name IN ('delivery', 'delivered_ts') RETURNING name, value
"""
_ADD = """
INSERT INTO messages (project_id, sender_id, thread_id, topic, subject, importance, ack_required, created_ts,
                      reply_to, is_system, scope, body_bytes, body_md, is_verified)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id
"""
_ADD_PROJECT = """
INSERT INTO message_projects (project_id, message_id, delivered_ts, thread_id, topic_key, delivery_seq)
VALUES (?, ?, ?, ?, ?, ?)
"""
_ADD_RECIPIENT = """
INSERT INTO recipients (message_id, agent_id, kind, position, delivery_seq, delivered_ts, urgent, ack_required,
                        thread_id, topic_key, sender_id, valid_until_ts, held_code, read_ts, ack_ts)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
_ADD_COUNTS = """
UPDATE agents SET unread_count = unread_count + :all, open_unread_count = open_unread_count + :open,
    inbox_count = inbox_count + :all, urgent_unread_count = urgent_unread_count + :urgent,
    ack_pending_count = ack_pending_count + :ack
"""
_COUNT_DELIVERED_TO_ONE = f"{_ADD_COUNTS} WHERE id = :agent"
COUNT_DELIVERED = f"{_ADD_COUNTS} WHERE id IN (SELECT value FROM json_each(:agents))"
"""What each of `agents` has been delivered, added to the five counts of its inbox."""
_COUNT_READ = """
UPDATE agents SET inbox_count = inbox_count + 1, ack_pending_count = ack_pending_count + ? WHERE id = ?
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class PastMail:
    """When a message was written that comes as history, and who had read and acknowledged it by then, and when."""

    created_ts: Micros
    read: Mapping[AgentId, Micros] = field(default_factory=dict)
    acknowledged: Mapping[AgentId, Micros] = field(default_factory=dict)


def draw_deliveries(connection: Connection, count: int, now: Micros) -> tuple[int, Micros]:
    """The first of `count` delivery numbers, and the time of the delivery: neither ever falls, whatever the clock."""
    drawn = dict(connection.execute(_DRAW, {"count": count, "now": now}).fetchall())
    return drawn["delivery"] - count + 1, drawn["delivered_ts"]


def add_message(
    connection: Connection,
    new: NewMessage,
    recipients: Sequence[NewRecipient],
    now: Micros,
    past: PastMail | None = None,
) -> tuple[Message, list[Recipient]]:
    """Store a message and deliver it to those of `recipients` who are not held (each agent once), in their order.

    Draws a delivery number for each and counts it as unread. Delivery times never run
    backwards, even if the clock does, so that "since" and the inbox order always agree.
    The message becomes mail of the projects of those it is delivered to.

    `past`: it comes as history. It is delivered now, and what was read before is never unread here; no feed tells of
    that.
    """
    reached = [one for one in recipients if one.held_code is None]
    first_seq, delivered_ts = draw_deliveries(connection, len(reached), now)
    open_to = _open_to(new, recipients)
    past = past or PastMail(created_ts=now)
    created_ts = past.created_ts
    message = _stored(new, _add_row(connection, new, _scope(open_to, recipients), created_ts), created_ts)
    if new.wire_place is not None:
        place = WireIds(connection).add_new(message.id, message.sender_id, new.wire_place, new.body_md)
        message = replace(message, wire_place=place)
    addressed = _addressed(recipients, message.id, first_seq, delivered_ts, past)
    if len(reached) < len(recipients):
        open_to = _open_to(new, reached) if reached else []
    key = None if new.topic is None else topic_key(new.topic)
    connection.executemany(
        _ADD_PROJECT, [(p, message.id, delivered_ts, new.thread_id, key, first_seq) for p in open_to]
    )
    flags = (
        int(new.importance.is_urgent),
        int(new.ack_required),
        new.thread_id,
        key,
        new.sender.id,
        new.terms.valid_until,
    )
    connection.executemany(
        _ADD_RECIPIENT,
        [
            (
                *(message.id, r.agent_id, r.kind.value, r.position, r.delivery_seq, r.delivered_ts),
                *(*flags, r.held_code, r.read_ts, r.ack_ts),
            )
            for r in addressed
        ],
    )
    if new.attachments:  # Who reads them follows from the rows above.
        Attachments(connection).add(message.id, new.attachments)
    _count_delivered(connection, new, reached, past)
    if new.terms != NO_TERMS:
        ladder = Ladder(connection)
        ladder.add_terms(message.id, new.terms)
        ladder.supersede([message.id], delivered_ts)
    return message, addressed


def _open_to(new: NewMessage, recipients: Sequence[NewRecipient]) -> list[ProjectId]:
    """The projects whose mail this is or may become, the sender's first; blind recipients open nothing."""
    if new.is_private:
        return []
    shown = (r.project.id for r in recipients if r.kind is not RecipientKind.BCC)
    return list(dict.fromkeys((new.project.id, *shown)))


def _scope(open_to: Sequence[ProjectId], recipients: Sequence[NewRecipient]) -> str:
    """Who may find the message in the full-text index, once it is delivered: the tables tell whether it is."""
    blind = (f"b{r.agent.id}" for r in recipients if r.project.id not in open_to)
    return " ".join((*(f"p{project_id}" for project_id in open_to), *blind))


def _stored(new: NewMessage, message_id: MessageId, now: Micros) -> Message:
    return Message(
        id=message_id,
        project_id=new.project.id,
        project_slug=new.project.slug,
        project_key=new.project.human_key,
        sender_id=new.sender.id,
        sender_name=new.sender.name,
        thread_id=new.thread_id,
        topic=new.topic,
        subject=new.subject,
        body_md=new.body_md,
        importance=new.importance,
        ack_required=new.ack_required,
        created_ts=now,
        reply_to=new.reply_to,
        is_system=new.is_system,
        is_private=new.is_private,
        attachments=new.attachments,
        terms=new.terms,
    )


def _addressed(
    recipients: Sequence[NewRecipient], message_id: MessageId, first_seq: int, delivered_ts: Micros, past: PastMail
) -> list[Recipient]:
    """Those who are not held have the delivery numbers from `first_seq` on, in their order."""
    seqs = itertools.count(first_seq)
    return [
        Recipient(
            message_id=message_id,
            agent_id=one.agent.id,
            project_id=one.project.id,
            project_slug=one.project.slug,
            name=one.agent.name,
            kind=one.kind,
            position=position,
            delivery_seq=next(seqs) if one.held_code is None else None,
            delivered_ts=delivered_ts if one.held_code is None else None,
            read_ts=past.read.get(one.agent.id),
            ack_ts=past.acknowledged.get(one.agent.id),
            last_active_ts=one.agent.last_active_ts,
            held_code=one.held_code,
        )
        for position, one in enumerate(recipients)
    ]


def _count_delivered(connection: Connection, new: NewMessage, reached: Sequence[NewRecipient], past: PastMail) -> None:
    """Of a copy that is for its recipient's eyes alone others must not learn by counting."""
    asks = {"all": 1, "urgent": int(new.importance.is_urgent), "ack": int(new.ack_required)}
    if past.read or past.acknowledged:
        _count_past(connection, new, [one for one in reached if one.agent.id in past.read], past)
        reached = [one for one in reached if one.agent.id not in past.read]
    for is_open in (True, False):
        agents = [one.agent.id for one in reached if is_open is not (new.is_private or one.kind is RecipientKind.BCC)]
        if len(agents) == 1:
            connection.execute(_COUNT_DELIVERED_TO_ONE, {"open": int(is_open), "agent": agents[0], **asks})
        elif agents:
            connection.execute(COUNT_DELIVERED, {"open": int(is_open), "agents": json.dumps(agents), **asks})


def _count_past(connection: Connection, new: NewMessage, read: Sequence[NewRecipient], past: PastMail) -> None:
    """Copies that were read before they came."""
    pending = [(one.agent.id not in past.acknowledged, one.agent.id) for one in read]
    rows = [(int(new.ack_required and is_pending), agent_id) for is_pending, agent_id in pending]
    connection.executemany(_COUNT_READ, rows)


def _add_row(connection: Connection, new: NewMessage, scope: str, now: Micros) -> MessageId:
    values = (
        new.project.id,
        new.sender.id,
        new.thread_id,
        new.topic,
        new.subject,
        new.importance.value,
        int(new.ack_required),
        now,
        new.reply_to,
        int(new.is_system),
        scope,
        len(new.body_md.encode()),
        new.body_md,
        int(new.is_verified),
    )
    (row_id,) = connection.execute(_ADD, values).fetchone()
    return MessageId(row_id)

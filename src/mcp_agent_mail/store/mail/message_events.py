"""Storing a message with all that belongs to it: its recipients and one archive event per project involved."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import AgentId, MessageId
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.archive_format.attachments import FREED
from mcp_agent_mail.domain.archive_format.layout import involved_projects, mail_snapshot, receipt_snapshot
from mcp_agent_mail.domain.attachments import Attachment
from mcp_agent_mail.domain.events import EventKind, NewEvent
from mcp_agent_mail.domain.messages import (
    Message,
    NewMessage,
    NewRecipient,
    Receipt,
    ReceiptStep,
    Recipient,
    RecipientKind,
)
from mcp_agent_mail.store.mail.copy_steps import ReadingState
from mcp_agent_mail.store.mail.delivery import PastMail
from mcp_agent_mail.store.transaction import Tx


def post(tx: Tx, new: NewMessage, chosen: Sequence[NewRecipient]) -> tuple[Message, list[Recipient]]:
    """Store and deliver; the projects of the sender and of everyone whom it reached are told."""
    if new.terms.supersedes is not None:
        end_expired_of(tx, [new.terms.supersedes])
    message, recipients = tx.messages.add(new, chosen, tx.now)
    _tell(tx, message, recipients, message.sender_id)
    return message, recipients


def post_past(
    tx: Tx, new: NewMessage, chosen: Sequence[NewRecipient], past: PastMail
) -> tuple[Message, list[Recipient]]:
    """As `post`, of what comes as history, with what was read of it; archives are told of that too."""
    message, recipients = tx.messages.add(new, chosen, tx.now, past)
    _tell(tx, message, recipients, message.sender_id)
    for one in recipients:
        for step, at in ((ReceiptStep.READ, one.read_ts), (ReceiptStep.ACKNOWLEDGED, one.ack_ts)):
            if at is not None:
                _tell_past_step(tx, one, step, at)
    return message, recipients


def mark_past(tx: Tx, recipients: Sequence[Recipient], past: PastMail) -> list[AgentId]:
    """Of mail that came as history: what was read and acknowledged of it since, each at its time; archives are told.
    What is true here stands, with its time. Gives those of whom something became true.
    """
    changed: dict[AgentId, None] = {}
    for one in recipients:
        steps = (
            (ReceiptStep.READ, one.read_ts, past.read.get(one.agent_id), tx.inboxes.mark_read),
            (ReceiptStep.ACKNOWLEDGED, one.ack_ts, past.acknowledged.get(one.agent_id), tx.inboxes.acknowledge),
        )
        for step, done_ts, at, make_true in steps:
            if done_ts is not None or at is None:
                continue
            state = make_true(one.agent_id, one.message_id, at)
            if state is not None and state.changed:
                _tell_past_step(tx, one, step, at)
                changed[one.agent_id] = None
    return list(changed)


def _tell_past_step(tx: Tx, recipient: Recipient, step: ReceiptStep, at: Micros) -> None:
    receipt = Receipt(
        message_id=recipient.message_id,
        agent_id=recipient.agent_id,
        agent=recipient.name,
        step=step,
        at=at,
        is_blind=recipient.kind is RecipientKind.BCC,
    )
    event = NewEvent(
        project_id=recipient.project_id,
        kind=EventKind.RECEIPT,
        agent_id=recipient.agent_id,
        message_id=recipient.message_id,
        snapshot=receipt_snapshot(receipt),
    )
    tx.outbox.add(event, tx.now)


def record_receipt(tx: Tx, agent: Agent, message_id: MessageId, step: ReceiptStep, state: ReadingState) -> None:
    """The agent has read or acknowledged the message now, by which its copy is in this state: its project's archive is
    told.
    """
    receipt = Receipt(
        message_id=message_id,
        agent_id=agent.id,
        agent=agent.name,
        step=step,
        at=tx.now,
        is_blind=state.kind is RecipientKind.BCC,
        is_private=state.is_private,
    )
    event = NewEvent(
        project_id=agent.project_id,
        kind=EventKind.RECEIPT,
        agent_id=agent.id,
        message_id=message_id,
        snapshot=receipt_snapshot(receipt),
    )
    tx.outbox.add(event, tx.now)


def record_events(tx: Tx, message_ids: Iterable[MessageId], by: AgentId | None) -> None:
    """These have changed: a held copy is delivered or returned by an agent's word, a sender has withdrawn them, copies
    have expired.
    """
    for message_id in message_ids:
        message = tx.messages.find(message_id)
        assert message is not None, message_id
        _tell(tx, message, tx.messages.recipients(message_id), by)


def end_expired(tx: Tx) -> None:
    """Write down the ends of copies whose time has passed, of as many as one unit of work may."""
    record_events(tx, tx.expire_due(), None)


def end_expired_of(tx: Tx, message_ids: Iterable[MessageId]) -> None:
    """The same of all copies of these messages, before something else ends them."""
    for message_id in message_ids:
        record_events(tx, tx.ladder.expire_of(message_id, tx.now), None)


def record_purges(tx: Tx, message_ids: Iterable[MessageId]) -> list[str]:
    """These have been purged: they carry nothing any more, and what no other mail of a project carries goes from its
    archive. Gives the digests of what no mail at all carries any more.
    """
    left: dict[str, None] = {}
    for message_id in message_ids:
        message = tx.messages.find(message_id)
        assert message is not None, message_id
        carried = message.attachments
        if carried:
            tx.attachments.drop(message_id, carried)
        tx.wire_ids.forget_body(message_id)
        _tell(tx, replace(message, attachments=()), tx.messages.recipients(message_id), None, left=carried)
        left |= dict.fromkeys(content.sha256 for one in carried for content in one.contents)
    return [sha256 for sha256 in left if not tx.attachments.is_carried(sha256)]


def _tell(
    tx: Tx,
    message: Message,
    recipients: Sequence[Recipient],
    by: AgentId | None,
    *,
    left: tuple[Attachment, ...] = (),
) -> None:
    """`left`: what it carried before."""
    for project_id in involved_projects(message, recipients):
        if message.attachments:
            tx.attachments.keep(project_id, message.attachments)
        freed = [content.path for content in tx.attachments.free(project_id, left)] if left else []
        tx.outbox.add(
            NewEvent(
                project_id=project_id,
                kind=EventKind.MAIL,
                agent_id=by,
                message_id=message.id,
                snapshot=mail_snapshot(message, recipients, project_id) | ({FREED: freed} if freed else {}),
            ),
            tx.now,
        )

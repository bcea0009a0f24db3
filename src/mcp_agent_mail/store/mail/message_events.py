"""Storing a message with all that belongs to it: its recipients and one archive event per project involved."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mcp_agent_mail.core.ids import AgentId, MessageId
from mcp_agent_mail.domain.archive_format.layout import involved_projects, mail_snapshot
from mcp_agent_mail.domain.events import EventKind, NewEvent
from mcp_agent_mail.domain.messages import Message, NewMessage, NewRecipient, Recipient
from mcp_agent_mail.store.transaction import Tx


def post(tx: Tx, new: NewMessage, chosen: Sequence[NewRecipient]) -> tuple[Message, list[Recipient]]:
    """Store and deliver; the projects of the sender and of everyone whom it reached are told."""
    message, recipients = tx.messages.add(new, chosen, tx.now)
    _tell(tx, message, recipients, message.sender_id)
    return message, recipients


def record_events(tx: Tx, message_ids: Iterable[MessageId], by: AgentId | None) -> None:
    """These have changed: a held copy is delivered or returned by an agent's word, or the server has purged them."""
    for message_id in message_ids:
        message = tx.messages.find(message_id)
        assert message is not None, message_id
        _tell(tx, message, tx.messages.recipients(message_id), by)


def _tell(tx: Tx, message: Message, recipients: Sequence[Recipient], by: AgentId | None) -> None:
    for project_id in involved_projects(message, recipients):
        if message.attachments:
            tx.attachments.keep(project_id, message.attachments)
        tx.outbox.add(
            NewEvent(
                project_id=project_id,
                kind=EventKind.MAIL,
                agent_id=by,
                message_id=message.id,
                snapshot=mail_snapshot(message, recipients, project_id),
            ),
            tx.now,
        )

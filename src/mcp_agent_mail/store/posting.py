"""Storing a message with all that belongs to it: its recipients and one archive event per project involved."""

from __future__ import annotations

from collections.abc import Sequence

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.domain.archive_layout import mail_snapshot
from mcp_agent_mail.domain.events import EventKind, NewEvent
from mcp_agent_mail.domain.messages import Message, NewMessage, NewRecipient, Recipient
from mcp_agent_mail.store.view import Tx


def post(tx: Tx, new: NewMessage, chosen: Sequence[NewRecipient], now: Micros) -> tuple[Message, list[Recipient]]:
    """Store and deliver; the projects of the sender and of every recipient are told."""
    message, recipients = tx.messages.add(new, chosen, now)
    for project_id in dict.fromkeys((message.project_id, *(one.project.id for one in chosen))):
        tx.outbox.add(
            NewEvent(
                project_id=project_id,
                kind=EventKind.MAIL,
                agent_id=message.sender_id,
                message_id=message.id,
                snapshot=mail_snapshot(message, recipients, project_id),
            ),
            now,
        )
    return message, recipients

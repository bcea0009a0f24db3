"""Units of work that note what a recipient did with its mail."""

from __future__ import annotations

from dataclasses import dataclass

from mcp_agent_mail.core.ids import MessageId
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.archive_format.layout import receipt_snapshot
from mcp_agent_mail.domain.events import EventKind, NewEvent
from mcp_agent_mail.domain.identity.caller import Caller
from mcp_agent_mail.domain.messages import Receipt, ReceiptStep, RecipientKind
from mcp_agent_mail.features.identity.actor import require_actor
from mcp_agent_mail.features.messaging.requests import ReceiptRequest
from mcp_agent_mail.features.projects.lookup import require_writable
from mcp_agent_mail.store.mail.inboxes import ReadingState
from mcp_agent_mail.store.transaction import Tx


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkedReceipt:
    """What marking left. `state` is None for an agent that is no recipient: nothing changed."""

    message_id: MessageId
    agent: Agent
    state: ReadingState | None
    is_verified: bool


def mark(tx: Tx, caller: Caller, request: ReceiptRequest) -> MarkedReceipt:
    """Note that the recipient read or acknowledged the message, and tell the archive of its project, once.

    One event says `acknowledged`, also when that made the message read: the step implies it.
    """
    actor = require_actor(tx, caller, request.project_key, request.agent_name)
    project, agent = require_writable(actor.project), actor.agent
    now = tx.now
    make_true = tx.inboxes.mark_read if request.step is ReceiptStep.READ else tx.inboxes.acknowledge
    state = make_true(agent.id, request.message_id, now)
    if state is not None and state.changed:
        message = tx.messages.find(request.message_id)
        receipt = Receipt(
            message_id=request.message_id,
            agent_id=agent.id,
            agent=agent.name,
            step=request.step,
            at=now,
            is_blind=state.kind is RecipientKind.BCC,
            is_private=message is not None and message.is_private,
        )
        event = NewEvent(
            project_id=project.id,
            kind=EventKind.RECEIPT,
            agent_id=agent.id,
            message_id=request.message_id,
            snapshot=receipt_snapshot(receipt),
        )
        tx.outbox.add(event, now)
    return MarkedReceipt(message_id=request.message_id, agent=agent, state=state, is_verified=actor.verified)

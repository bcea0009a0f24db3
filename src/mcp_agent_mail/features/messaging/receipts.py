"""Units of work that note what a recipient did with its mail."""

from __future__ import annotations

from dataclasses import dataclass

from mcp_agent_mail.core.ids import MessageId
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.archive_format.layout import receipt_snapshot
from mcp_agent_mail.domain.events import EventKind, NewEvent
from mcp_agent_mail.domain.identity.caller import Caller, require_to_act
from mcp_agent_mail.domain.messages import Receipt, ReceiptStep, RecipientKind
from mcp_agent_mail.features.identity.lookup import require_agent
from mcp_agent_mail.features.messaging.requests import ReceiptRequest
from mcp_agent_mail.features.projects.lookup import require_project, require_writable
from mcp_agent_mail.store.mail.inboxes import ReadingState
from mcp_agent_mail.store.transaction import Tx


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkedReceipt:
    """`state` is None for an agent that is no recipient: nothing changed."""

    message_id: MessageId
    agent: Agent
    state: ReadingState | None
    is_verified: bool


def mark(tx: Tx, caller: Caller, request: ReceiptRequest) -> MarkedReceipt:
    """Make the step true and tell the archive of the recipient's project, once.

    One event says `acknowledged`, also when that made the message read: the step implies it.
    """
    project = require_project(tx, request.project_key)
    agent = require_agent(tx, project, request.agent_name)
    is_verified = require_to_act(caller, agent)
    require_writable(project)
    now = tx.now
    make_true = tx.inboxes.mark_read if request.step is ReceiptStep.READ else tx.inboxes.acknowledge
    state = make_true(agent.id, request.message_id, now)
    if state is not None and state.changed:
        receipt = Receipt(
            message_id=request.message_id,
            agent_id=agent.id,
            agent=agent.name,
            step=request.step,
            at=now,
            is_blind=state.kind is RecipientKind.BCC,
        )
        event = NewEvent(
            project_id=project.id,
            kind=EventKind.RECEIPT,
            agent_id=agent.id,
            message_id=request.message_id,
            snapshot=receipt_snapshot(receipt),
        )
        tx.outbox.add(event, now)
    return MarkedReceipt(message_id=request.message_id, agent=agent, state=state, is_verified=is_verified)

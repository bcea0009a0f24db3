"""Units of work that note what a recipient did with its mail."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from enum import StrEnum

from mcp_agent_mail.core.ids import MessageId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.identity.caller import Caller
from mcp_agent_mail.domain.messages import ReceiptStep
from mcp_agent_mail.features.identity.actor import Actor, require_actor
from mcp_agent_mail.features.messaging.read import InboxListing, read_inbox
from mcp_agent_mail.features.messaging.requests import InboxRequest, ReceiptRequest
from mcp_agent_mail.features.messaging.visibility import is_visible_to
from mcp_agent_mail.features.projects.lookup import require_writable
from mcp_agent_mail.store.mail.copy_steps import ReadingState
from mcp_agent_mail.store.mail.message_events import end_expired_of, record_receipt
from mcp_agent_mail.store.transaction import Tx


class ReceiptRefusal(StrEnum):
    """Why a step was not made true. A message that the agent may not know of is none, like any other id."""

    NOT_A_RECIPIENT = "not_a_recipient"
    NO_SUCH_MESSAGE = "no_such_message"
    HELD = "held"
    WITHDRAWN = "withdrawn"
    EXPIRED = "expired"


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkedReceipt:
    """What marking left. Where `reason` says why, nothing changed."""

    message_id: MessageId
    state: ReadingState | None
    reason: ReceiptRefusal | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkedReceipts:
    """One for each message that was asked for, in that order."""

    agent: Agent
    receipts: list[MarkedReceipt]
    is_verified: bool


def mark(tx: Tx, caller: Caller, request: ReceiptRequest) -> MarkedReceipts:
    """Note that the recipient read or acknowledged the messages. Those of which it is no recipient stop none of the
    others.
    """
    actor = require_actor(tx, caller, request.project_key, request.agent_name)
    require_writable(actor.project)
    ids = list(dict.fromkeys(request.message_ids))
    states = mark_own(tx, actor, ids, request.step)
    receipts = [
        MarkedReceipt(
            message_id=message_id,
            state=states.get(message_id),
            reason=_why_not(tx, actor.agent, message_id, states.get(message_id)),
        )
        for message_id in ids
    ]
    return MarkedReceipts(agent=actor.agent, receipts=receipts, is_verified=actor.verified)


def mark_own(
    tx: Tx, actor: Actor, message_ids: Collection[MessageId], step: ReceiptStep
) -> dict[MessageId, ReadingState]:
    """Make the step true for those of the messages that were delivered to the agent, and tell the archive of its
    project, once for each.

    One event says `acknowledged`, also when that made the message read: the step implies it.
    """
    make_true = tx.inboxes.mark_all_read if step is ReceiptStep.READ else tx.inboxes.acknowledge_all
    states = make_true(actor.agent.id, message_ids, tx.now)
    for message_id in message_ids:
        _tell_if_changed(tx, actor, message_id, step, states.get(message_id))
    return states


def mark_answered(tx: Tx, actor: Actor, message_id: MessageId, *, acknowledges: bool = False) -> bool:
    """Whoever has answered a message has read it, even one that had expired, and acknowledged it where the answer says
    so. False, and nothing changes, where it was not delivered to the agent, or was withdrawn before.
    """
    end_expired_of(tx, [message_id])
    state = tx.inboxes.answer(actor.agent.id, message_id, tx.now, acknowledges=acknowledges)
    step = ReceiptStep.ACKNOWLEDGED if acknowledges else ReceiptStep.READ
    _tell_if_changed(tx, actor, message_id, step, state)
    return state is not None


def _tell_if_changed(
    tx: Tx, actor: Actor, message_id: MessageId, step: ReceiptStep, state: ReadingState | None
) -> None:
    if state is not None and state.changed:
        record_receipt(tx, actor.agent, message_id, step, state)


def _why_not(tx: Tx, agent: Agent, message_id: MessageId, state: ReadingState | None) -> ReceiptRefusal | None:
    if state is not None:
        return None if state.read_ts is not None else ReceiptRefusal.EXPIRED
    if tx.held.is_held(message_id, agent.id):
        return ReceiptRefusal.HELD
    if tx.inboxes.has_left(agent.id, message_id):
        return ReceiptRefusal.WITHDRAWN
    message = tx.messages.find(message_id)
    if message is None or not is_visible_to(tx, message, agent):
        return ReceiptRefusal.NO_SUCH_MESSAGE
    return ReceiptRefusal.NOT_A_RECIPIENT


def mark_listed(tx: Tx, caller: Caller, request: InboxRequest) -> InboxListing:
    """A page of the inbox, of which all is read by that."""
    listing = read_inbox(tx, caller, request)
    require_writable(listing.mailbox.project)
    unread = [entry.head.id for entry in listing.entries if entry.read_ts is None and entry.expired_ts is None]
    states = mark_own(tx, listing.mailbox, unread, ReceiptStep.READ)
    entries = [
        entry if entry.head.id not in states else entry._replace(read_ts=states[entry.head.id].read_ts)
        for entry in listing.entries
    ]
    return replace(listing, entries=entries, counts=tx.inboxes.counts(listing.mailbox.agent.id))

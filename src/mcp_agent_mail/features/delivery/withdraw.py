"""A sender takes a message back: whoever has not read it will not, and whoever has is told."""

from __future__ import annotations

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import MessageId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.identity.caller import Caller
from mcp_agent_mail.features.delivery.requests import WithdrawRequest
from mcp_agent_mail.features.delivery.status import MAX_COPIES, hint_to_prove, shown_copies
from mcp_agent_mail.features.identity.actor import Actor, require_able, require_actor
from mcp_agent_mail.features.messaging.visibility import require_own_message
from mcp_agent_mail.store.ladder import LadderCopy
from mcp_agent_mail.store.mail.message_events import end_expired_of, record_events
from mcp_agent_mail.store.transaction import Tx


@dataclass(frozen=True, slots=True, kw_only=True)
class Withdrawal:
    """`copies` are the first MAX_COPIES of those that the sender may know of, as they are since. `hint` is how it may
    see more.
    """

    actor: Actor
    message_id: MessageId
    withdrawn_ts: Micros
    copies: list[LadderCopy]
    hint: str | None = None


def withdraw(tx: Tx, caller: Caller, request: WithdrawRequest) -> Withdrawal:
    """One unit of work; a repeat changes nothing, and gives the first time. What had been sent stays in the history of
    archives.
    """
    actor = require_actor(tx, caller, request.project_key, request.sender_name)
    message = require_own_message(tx, request.message_id, actor, "withdraw")
    at = message.terms.withdrawn_ts
    if at is None:
        require_able(actor, "it withdraws no mail")
        end_expired_of(tx, [message.id])
        at = tx.ladder.withdraw(message.id, tx.now, request.reason)
        record_events(tx, [message.id], actor.agent.id)
    copies = shown_copies(tx, message, actor)
    return Withdrawal(
        actor=actor,
        message_id=message.id,
        withdrawn_ts=at,
        copies=copies[:MAX_COPIES],
        hint=hint_to_prove(caller, message, actor),
    )

"""Recipients whose inbox another agent holds: no mail for them, until it is released."""

from __future__ import annotations

from collections.abc import Sequence

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import AgentId
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.messages import NewRecipient
from mcp_agent_mail.features.messaging.recipients import Skipped
from mcp_agent_mail.features.reservations.inbox_leases import inbox_leased, leased_inboxes
from mcp_agent_mail.store.transaction import Tx


def require_open_inboxes(tx: Tx, sender: Agent, chosen: Sequence[NewRecipient], now: Micros) -> None:
    """Raises InboxLeased for the first of `chosen` whose inbox is held."""
    leased = leased_inboxes(tx, sender, [one.agent for one in chosen], now)
    for one in chosen:
        if one.agent.id in leased:
            raise inbox_leased(one.agent.name, leased[one.agent.id])


def skip_leased(tx: Tx, sender: Agent, chosen: dict[AgentId, NewRecipient], now: Micros) -> list[Skipped]:
    """Takes them out of `chosen`."""
    leased = leased_inboxes(tx, sender, [one.agent for one in chosen.values()], now)
    skipped = []
    for agent_id, lease in leased.items():
        name = chosen.pop(agent_id).agent.name
        error = inbox_leased(name, lease)
        skipped.append(Skipped(agent=name, code=error.code, reason=error.message))
    return skipped

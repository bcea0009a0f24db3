"""May this sender's mail reach this recipient? One pure decision, taken in the unit of work that stores the mail."""

from __future__ import annotations

from dataclasses import dataclass

from mcp_agent_mail.domain.agents import Agent


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """`code` is None when the mail may be delivered, else the wire error code with the reason in words."""

    code: str | None
    reason: str


_DELIVER = Decision(code=None, reason="")


def decide(*, sender: Agent, recipient: Agent) -> Decision:  # noqa: ARG001  # contact policies will look at the sender
    """Retired agents get no new mail; everyone else gets all of it."""
    if recipient.is_retired:
        return Decision(code="RECIPIENT_RETIRED", reason=f"{recipient.name} is retired")
    return _DELIVER

"""What an operator chooses of this door."""

from __future__ import annotations

from mcp_agent_mail.core.lazy.dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class PostalOptions:
    """`max_wait_s`: a look over MCP waits so long for mail; 0 not at all. `mailbox_max`: unread messages that a mailbox
    holds.
    """

    max_wait_s: float
    mailbox_max: int

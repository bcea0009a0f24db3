"""The settings of delivery: how long evidence of it counts. Standard library only."""

from __future__ import annotations

from mcp_agent_mail.core.settings import kinds
from mcp_agent_mail.core.settings.kinds import Row

DELIVERY_ROWS = (
    Row(
        name="LISTENING_WINDOW_SECONDS",
        kind=kinds.whole(5, 3_600),
        default="60",
        does="How long after its client's hook was heard an agent counts as listening.",
        group="Delivery",
    ),
)

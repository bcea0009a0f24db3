"""The settings of who waits for mail, and of what feeds keep. Standard library only."""

from __future__ import annotations

from mcp_agent_mail.core.settings import kinds
from mcp_agent_mail.core.settings.kinds import Row

DELIVERY_ROWS = (
    Row(
        name="WAITERS_MAX",
        kind=kinds.whole(10, 50_000),
        default="5000",
        does="How many calls may wait for mail, and streams of events be open, together. Each keeps a connection.",
        group="Delivery",
    ),
    Row(
        name="FEED_KEEP_DAYS",
        kind=kinds.whole(1, 3_650),
        default="30",
        does="How long feeds of events are kept. An older cursor is CURSOR_EXPIRED.",
        group="Delivery",
    ),
)

"""The settings of delivery: who waits, what feeds keep, how long evidence counts. Standard library only."""

from __future__ import annotations

from mcp_agent_mail.core.settings import kinds
from mcp_agent_mail.core.settings.kinds import Row

MOST_WAITERS = 1_500
"""Three quarters of the connections that a server takes at most: each place keeps one."""

DELIVERY_ROWS = (
    Row(
        name="WAITERS_MAX",
        kind=kinds.whole(10, 50_000),
        default="5000",
        does="How many calls may wait for mail, and streams of events be open, together. Each keeps a connection: "
        f"they get three quarters of those at most, {MOST_WAITERS}, fewer where the server may open few files.",
        group="Delivery",
    ),
    Row(
        name="FEED_KEEP_DAYS",
        kind=kinds.whole(1, 3_650),
        default="30",
        does="How long feeds of events are kept. An older cursor is CURSOR_EXPIRED.",
        group="Delivery",
    ),
    Row(
        name="LISTENING_WINDOW_SECONDS",
        kind=kinds.whole(5, 3_600),
        default="60",
        does="How long after its client's hook was heard an agent counts as listening.",
        group="Delivery",
    ),
)

HOOK_ROW = Row(
    name="AGENT_MAIL_INTERVAL",
    kind=kinds.whole(0, 3_600),
    default="30",
    does="Seconds between two reminders of unread mail that `am hook` gives a session, each only if the count changed.",
    group="Client side",
    client=True,
)

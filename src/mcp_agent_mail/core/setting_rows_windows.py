"""The settings of windows: how long the server keeps one, and which one a client is in. Standard library only."""

from __future__ import annotations

from mcp_agent_mail.core.setting_row import Row
from mcp_agent_mail.core.settings import kinds

WINDOW_ROWS = (
    Row(
        name="MCP_AGENT_MAIL_WINDOW_TTL_DAYS",
        kind=kinds.whole(1, 3_650),
        default="30",
        does="After so many days without a call from it, a window's name is forgotten.",
        group="Callers",
    ),
)

WINDOW_CLIENT_ROWS = (
    Row(
        name="MCP_AGENT_MAIL_WINDOW_ID",
        kind=kinds.UUID,
        default="",
        does="The terminal window, sent as `X-Agent-Window` by `am serve --stdio`: an agent that registers without a "
        "name comes back under the window's. A server's own is ignored.",
        group="Client side",
        client=True,
    ),
)

"""Parameters that file reservation tools share with the macros that reserve."""

from __future__ import annotations

from mcp_agent_mail.core.params import Duration, Texts

PATHS = Texts()
WANTED_PATHS = Texts(min_items=1)
SECONDS = Duration(30 * 86_400)

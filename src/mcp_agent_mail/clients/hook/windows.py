"""Whom registrations from a terminal window go by."""

from __future__ import annotations

from mcp_agent_mail.clients.hook.identity import known_name
from mcp_agent_mail.clients.hook.text import items
from mcp_agent_mail.core import running_server as wire

_MAX_WINDOWS = 1_000


def find_name(server: wire.RunningServer, window: str, project: str, patience: wire.Deadline) -> str | None:
    """None for a window that the project does not know, and without an answer."""
    try:
        found = server.ask(wire.WINDOWS, {"project_key": project}, patience)
    except (wire.NoAnswer, wire.Refused):
        return None
    windows = items(found.get("identities"), _MAX_WINDOWS) if isinstance(found, dict) else []
    names = [one for one in windows if str(one.get("window_uuid")).lower() == window.lower()]
    return known_name(names[0], "display_name") if names else None

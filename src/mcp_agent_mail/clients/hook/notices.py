"""What a session hears of itself, in our words: that it cannot be told of mail, and that it goes by another name."""

from __future__ import annotations

from mcp_agent_mail.clients.hook.text import fold

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcp_agent_mail.core.running_server import Refused

_MENDABLE = ("NOT_FOUND", "CONFLICT", "PERMISSION_DENIED", "AUTHENTICATION_REQUIRED", "INVALID_INPUT")
"""Errors that last until somebody mends a name, a project or a token."""

_MAX_LINE = 500
NAMELESS = (
    "Agent mail is on in this project, and this session has no name in it yet.\n"
    "Call macro_start_session with human_key set to the path of this directory; a name you were given goes in as "
    "agent_name."
)


def refused_lines(refused: Refused) -> list[str]:
    """Why the server told nothing, in its own words; nothing for an error that passes by itself."""
    why, hint = fold(refused.message, _MAX_LINE), fold(refused.hint, _MAX_LINE)
    if refused.kind not in _MENDABLE or not why:
        return []
    return [f"Agent mail cannot tell this session of its mail: {why}", *([hint] if hint else [])]


def other_name_line(registered: str, named: str) -> str:
    """For an agent that registered by another name than AGENT_NAME."""
    return (
        f"Agent mail: you registered as {registered}, and AGENT_NAME is {named}: this session is told {named}'s mail. "
        f"Act as {named}, or ask whoever starts the client to set AGENT_NAME={registered}."
    )

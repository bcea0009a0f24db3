"""What a refusal is over HTTP, and to whoever reads a page."""

from __future__ import annotations

from mcp_agent_mail.core.errors import (
    KEYED,
    AgentMailError,
    AuthenticationRequired,
    Busy,
    Conflict,
    Internal,
    NotFound,
    PermissionDenied,
    RateLimited,
    Unavailable,
)

_STATUS: tuple[tuple[type[AgentMailError], int], ...] = (
    (AuthenticationRequired, 401),
    (PermissionDenied, 403),
    (NotFound, 404),
    (Conflict, 409),
    (RateLimited, 429),
    (Busy, 503),
    (Unavailable, 503),
    (Internal, 500),
)


def for_people(error: AgentMailError) -> AgentMailError:
    """As it is said to whoever has a button and makes no calls."""
    return error.reworded(hint=error.hint.replace(KEYED, "").replace("Call again", "Try again"), data=error.data)


def retry_header(error: AgentMailError) -> tuple[tuple[str, str], ...]:
    """When to come again, where the refusal says it."""
    retry_after_s = error.data.get("retry_after_s")
    if not isinstance(retry_after_s, (int, float)):
        return ()
    return (("retry-after", str(max(1, round(retry_after_s)))),)


def status_of(error: AgentMailError) -> int:
    """400 for what was asked in a way that cannot be done."""
    return next((status for kind, status in _STATUS if isinstance(error, kind)), 400)

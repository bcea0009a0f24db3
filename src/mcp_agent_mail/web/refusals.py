"""What a refusal is over HTTP."""

from __future__ import annotations

from mcp_agent_mail.core.errors import (
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


def status_of(error: AgentMailError) -> int:
    """400 for what was asked in a way that cannot be done."""
    return next((status for kind, status in _STATUS if isinstance(error, kind)), 400)

"""What a request's headers say of it before anybody judges it."""

from __future__ import annotations

from starlette.types import Scope

from mcp_agent_mail.server.identity import Headers

_BLANKS = (b" ", b"\t")
_EVENT_STREAM = b"text/event-stream"


def trim_values(scope: Scope) -> None:
    """Blanks behind a header's value do not belong to it (RFC 9110); httptools leaves them on."""
    if any(value.endswith(_BLANKS) for _, value in scope["headers"]):
        scope["headers"] = [(name, value.strip(b" \t")) for name, value in scope["headers"]]


def is_mcp_clients(scope: Scope, headers: Headers) -> bool:
    """Whether a client of MCP asks, at whatever path it was given: nobody else posts for an event stream."""
    return scope["method"] == "POST" and _EVENT_STREAM in headers.get(b"accept", b"")

"""The requests that an MCP session is answering, by their ids: of two with one id the SDK would give the first the
second's place, and send one the other's answer, whoever they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from mcp.server.streamable_http import GET_STREAM_KEY
from pydantic_core import from_json

from mcp_agent_mail.core.errors import Conflict


class TakenId(Conflict):
    """The session answers a request with this id just now."""


class RequestIds:
    """For use on the event loop. `1` and `"1"` are one id to the SDK."""

    def __init__(self) -> None:
        self._ids: set[tuple[bytes, str]] = set()

    @contextmanager
    def entered(self, session: bytes, body: bytes) -> Iterator[None]:
        """The request in `body`, if it is one, is under way inside the block. Raises TakenId."""
        request_id = _request_id(body)
        if request_id is None:
            yield
            return
        key = (session, request_id)
        # By the name of its own stream a session tells of what was subscribed to.
        if key in self._ids or request_id == GET_STREAM_KEY:
            raise TakenId(
                "The session answers a request with this id just now.",
                hint="Give each request of a session an id of its own; nothing was done, send it again with another.",
            )
        self._ids.add(key)
        try:
            yield
        finally:
            self._ids.discard(key)


def _request_id(body: bytes) -> str | None:
    """As the SDK reads it, with its own parser: what that takes and another refuses would pass by. None for what is no
    request.
    """
    try:
        message: Any = from_json(body)
    except ValueError:
        return None
    if not isinstance(message, Mapping) or "method" not in message:
        return None
    request_id = message.get("id")
    is_id = isinstance(request_id, str | int) and not isinstance(request_id, bool)
    return str(request_id) if is_id else None

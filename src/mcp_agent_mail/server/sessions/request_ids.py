"""The requests that an MCP session is answering, by their ids: of two with one id the SDK would give the first the
second's place, and send one the other's answer, whoever they are. And what ends those that the SDK knows nothing of.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from mcp.server.streamable_http import GET_STREAM_KEY
from mcp.shared.dispatcher import coerce_request_id
from mcp.shared.jsonrpc_dispatcher import cancelled_request_id_from_params

from mcp_agent_mail.core.errors import Conflict
from mcp_agent_mail.core.tools import JsonObject
from mcp_agent_mail.server.transport.message_ids import is_id

_CANCELLED = "notifications/cancelled"


class TakenId(Conflict):
    """The session answers a request with this id just now."""


class RequestCancelled(Exception):
    """Its client wants no answer any more."""


class SessionEnded(Exception):
    """Its client has ended the session that it came in."""


class _Running:
    """What answers a request in the task of its own connection, where it can be ended."""

    __slots__ = ("_task", "ended_by")

    def __init__(self) -> None:
        self._task = asyncio.current_task()
        self.ended_by: type[Exception] | None = None

    def end(self, by: type[Exception]) -> None:
        if self._task is not None and self.ended_by is None:
            self.ended_by = by
            self._task.cancel()

    def take_back(self) -> bool:
        """Take the cancellation of the task back. Whether nothing else ends it."""
        return self._task is not None and self._task.uncancel() == 0


class RequestIds:
    """For use on the event loop. `1` and `"1"` are one id to the SDK, and `"01"` too where it is cancelled."""

    def __init__(self) -> None:
        self._ids: set[tuple[bytes, str]] = set()
        self._running: dict[tuple[bytes, str | int], _Running] = {}
        """By the id as notifications are taken to name it: `"07"` is 7 there."""

    @contextmanager
    def entered(self, session: bytes, request_id: str | None) -> Iterator[None]:
        """The request of that id, if it is one, is under way inside the block. Raises TakenId."""
        if request_id is None:
            yield
            return
        with self._held(session, request_id):
            yield

    @contextmanager
    def running(self, session: bytes, request_id: str | int) -> Iterator[None]:
        """The request is answered inside the block, by the task that enters it. Raises TakenId, and RequestCancelled or
        SessionEnded where `cancel` or `end` has ended the block.
        """
        request, key = _Running(), (session, coerce_request_id(request_id))
        with self._held(session, str(request_id)):
            self._running[key] = request
            try:
                yield
            except asyncio.CancelledError:
                if request.ended_by is None or not request.take_back():
                    raise
                raise request.ended_by from None
            finally:
                del self._running[key]
            # Its work went on to its end, and nobody takes the answer.
            if request.ended_by is not None:
                request.take_back()
                raise request.ended_by

    def cancel(self, session: bytes, cancelled_id: str | int | None) -> None:
        """End the running request of that id, if there is one."""
        request = None if cancelled_id is None else self._running.get((session, coerce_request_id(cancelled_id)))
        if request is not None:
            request.end(RequestCancelled)

    def end(self, session: bytes) -> None:
        """End all that run in a session."""
        for (one, _), request in list(self._running.items()):
            if one == session:
                request.end(SessionEnded)

    @contextmanager
    def _held(self, session: bytes, request_id: str) -> Iterator[None]:
        # A cancellation names `"07"` and 7 alike.
        keys = {(session, request_id), (session, str(coerce_request_id(request_id)))}
        # By the name of its own stream a session tells of what was subscribed to.
        if keys & self._ids or request_id == GET_STREAM_KEY:
            raise TakenId(
                "The session answers a request with this id just now.",
                hint="Give each request of a session an id of its own; nothing was done, send it again with another.",
            )
        self._ids |= keys
        try:
            yield
        finally:
            self._ids -= keys


def request_id_of(message: JsonObject) -> str | None:
    """None for what is no request."""
    if "method" not in message:
        return None
    request_id = message.get("id")
    return str(request_id) if is_id(request_id) else None


def cancelled_id_of(message: JsonObject) -> str | int | None:
    """The id of the request that a notification cancels; None for all else."""
    params = message.get("params")
    if message.get("method") != _CANCELLED or not isinstance(params, dict):
        return None
    return cancelled_request_id_from_params(params)

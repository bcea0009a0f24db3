"""The answer to a call that asks to be told how far it is, as an event stream: its JSON-RPC answer is the last event.

The SDK answers in JSON, in the session that the call came in, and can be told there that the call is cancelled. A
stream of the SDK's own would take a session that answers everything so, at twice the cost.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import orjson
from starlette.types import Message, Send

from mcp_agent_mail.core.tools import JsonObject
from mcp_agent_mail.server.identity import Headers
from mcp_agent_mail.server.transport.hearing import RequestHearing
from mcp_agent_mail.server.transport.message_ids import is_told_back

_EVENT_STREAM = b"text/event-stream"
_OWN_HEADERS = frozenset({b"content-type", b"content-length"})
_OK = 200
ProgressToken = str | int


def progress_token(headers: Headers, message: JsonObject) -> ProgressToken | None:
    """By which a tool's caller wants to be told of its progress, where it takes an event stream; None for any other
    request.
    """
    if not accepts_events(headers):
        return None
    try:
        token = message["params"]["_meta"]["progressToken"]
        is_call = message["method"] == "tools/call" and "id" in message
    except (KeyError, TypeError):
        return None
    return token if is_call and is_told_back(token) else None


def accepts_events(headers: Headers) -> bool:
    """Whether the request names event streams among what it takes."""
    accepted = headers.get(b"accept", b"").lower().split(b",")
    return any(one.partition(b";")[0].strip() == _EVENT_STREAM for one in accepted)


class ProgressStream:
    """Of one call. Between entry and exit of `opened` it tells its client every `every_s` seconds that it is under way;
    what answers the call writes to `send`. A refusal that comes before any of that stays what it is.
    """

    def __init__(self, hearing: RequestHearing, token: ProgressToken, *, every_s: float) -> None:
        self._hearing = hearing
        self._token = token
        self._every_s = every_s
        self._began_s = time.monotonic()
        self._has_begun = False
        self._start: Message | None = None
        self._body = b""
        self._telling: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[Send]:
        """Gives what the answer is to be written to. Nothing is told after the exit."""
        self._telling = asyncio.create_task(self._tell())
        try:
            yield self._send
        finally:
            await self._stop_telling()

    async def _tell(self) -> None:
        while True:
            await asyncio.sleep(self._every_s)
            await self._begin(())
            params: JsonObject = {
                "progressToken": self._token,
                "progress": round(time.monotonic() - self._began_s, 3),
                "message": "Waiting.",
            }
            note = orjson.dumps({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})
            await self._hearing.send({"type": "http.response.body", "body": _event(note), "more_body": True})

    async def _stop_telling(self) -> None:
        telling, self._telling = self._telling, None
        if telling is None:
            return
        telling.cancel()
        with suppress(asyncio.CancelledError):
            await telling

    async def _send(self, message: Message) -> None:
        await self._stop_telling()
        if message["type"] == "http.response.start":
            self._start = message
            if not self._has_begun and message["status"] != _OK:
                await self._hearing.send(message)
            return
        assert self._start is not None, message
        is_refusal = self._start["status"] != _OK
        if is_refusal and not self._has_begun:
            await self._hearing.send(message)
            return
        self._body += message.get("body", b"")
        if message.get("more_body", False):
            return
        if is_refusal:  # The stream has said 200 already.
            self._hearing.close()
        await self._begin(self._start["headers"])
        await self._hearing.send({"type": "http.response.body", "body": _event(self._body)})

    async def _begin(self, headers: list[tuple[bytes, bytes]] | tuple[()]) -> None:
        if self._has_begun:
            return
        self._has_begun = True
        own = [(b"content-type", _EVENT_STREAM), (b"cache-control", b"no-cache, no-transform")]
        others = [header for header in headers if header[0].lower() not in _OWN_HEADERS]
        await self._hearing.send({"type": "http.response.start", "status": _OK, "headers": [*own, *others]})


def _event(message: bytes) -> bytes:
    """JSON has no line ends of its own."""
    return b"event: message\ndata: " + message + b"\n\n"

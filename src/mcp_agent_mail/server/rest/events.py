"""`GET /rest/v1/events`: what happens to an agent's mail, as server-sent events. Admitted like `/rpc`.

A refusal is JSON, and comes before the stream begins. Each event has its cursor as its id; who comes back with the last
one goes on behind it, and so does who was cut, or who was there when the server stopped.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable

import orjson
from starlette.types import Receive, Scope, Send

from mcp_agent_mail.core.arguments import TOKEN_ARGUMENTS, CallWay
from mcp_agent_mail.core.cursors import Cursor
from mcp_agent_mail.core.errors import AgentMailError, CursorAhead, CursorExpired, InvalidInput
from mcp_agent_mail.core.tools import JsonObject, ToolTable, call_as
from mcp_agent_mail.domain.identity.caller import Caller
from mcp_agent_mail.features.delivery.stream import FeedStream
from mcp_agent_mail.features.delivery.tools import FOLLOW
from mcp_agent_mail.features.delivery.waiters import MailWaiter
from mcp_agent_mail.server.dispatch import RequestFacts, masked
from mcp_agent_mail.server.identity import Headers
from mcp_agent_mail.server.rendering.responses import send_value
from mcp_agent_mail.server.rendering.wire import error_object, http_status, retry_headers
from mcp_agent_mail.server.rest.arguments import from_query, read_pairs, require_no_body, without_connection
from mcp_agent_mail.server.transport.answers import begin_stream
from mcp_agent_mail.server.transport.hearing import RequestHearing
from mcp_agent_mail.server.transport.limits import read_body

PATH = "/rest/v1/events"
RETRY_MS = 1_000
COMMENT_EVERY_S = 15.0
"""Proxies close what is silent for a minute or so."""
COMMENT = b":\n"

LAST_EVENT_ID = "Last-Event-ID"
_WAY = CallWay(what=f"GET {PATH}", hidden=frozenset(TOKEN_ARGUMENTS))
_HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
]


class EventsEndpoint:
    """`streams` opens them, as tools are called."""

    def __init__(
        self,
        streams: ToolTable,
        current_caller: Callable[[], Awaitable[Caller]],
        *,
        comment_every_s: float = COMMENT_EVERY_S,
    ) -> None:
        self._streams = streams
        self._current_caller = current_caller
        self._comment_every_s = comment_every_s

    async def answer(self, scope: Scope, facts: RequestFacts, receive: Receive, send: Send) -> None:
        """One stream, from its refusal or its first line to its end. 405 for anything but GET."""
        if scope["method"] != "GET":
            await send_value(send, 405, {"detail": f"Use GET {PATH}."}, (b"allow", b"GET"))
            return
        has_begun = False
        try:
            stream = await self._open(scope, facts, await read_body(receive))
            with stream.placed() as waiter, RequestHearing(receive, send).watched(waiter.leave):
                begin_stream(scope)
                await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
                has_begun = True
                async for piece in self._pieces(stream, waiter, facts):
                    await send({"type": "http.response.body", "body": piece, "more_body": True})
                    if waiter.has_left:
                        return
        except AgentMailError as error:
            # Whoever has its stream already comes back, and is told then.
            if not has_begun:
                await send_value(send, http_status(error), error_object(error), *retry_headers(error))
                return
        await send({"type": "http.response.body", "body": b""})

    async def _open(self, scope: Scope, facts: RequestFacts, body: bytes) -> FeedStream:
        require_no_body(body)
        given = from_query(without_connection(read_pairs(scope["query_string"]), ()), ())
        headers: Headers = dict(scope["headers"])
        if last := headers.get(b"last-event-id", b"").decode("latin-1").strip():
            given["after"] = _cursor(last)
        try:
            stream: FeedStream = await self._streams.run(FOLLOW, given, facts.credentials, _WAY)
        except (CursorExpired, CursorAhead) as error:
            raise _of_header(error) if last else error from None
        except AgentMailError:
            raise
        except Exception as error:  # noqa: BLE001  # a bug becomes INTERNAL, as for tools
            raise masked(error, what="a stream of events", request_id=facts.request_id) from None
        return stream

    async def _pieces(self, stream: FeedStream, waiter: MailWaiter, facts: RequestFacts) -> AsyncIterator[bytes]:
        """The first says where the stream begins: whoever is cut before an event comes back to that. So does whoever
        was silent for longer than the feed is kept, since a look that found nothing says how far it was.
        """
        told = stream.cursor
        yield b"retry: %d\nid: %d\n\n" % (RETRY_MS, stream.cursor)

        async def identify() -> Caller:
            caller: Caller = await call_as(facts.credentials, self._current_caller, {})
            return caller

        async for events in stream.pages(waiter, identify, silence_s=self._comment_every_s):
            if events:
                told = events[-1]["cursor"]
                yield _written(events)
            elif told != stream.cursor:
                told = stream.cursor
                yield b"id: %d\n\n" % told
            else:
                yield COMMENT


def _cursor(last: str) -> int:
    """What stands in Last-Event-ID, as ids are written: digits alone. Raises InvalidInput."""
    if not (last.isascii() and last.isdigit()):
        raise InvalidInput(
            f"{LAST_EVENT_ID} must be a whole number, not {last!r:.100}.",
            hint=f"{LAST_EVENT_ID} is 0, or the id of the last event that came; without it a stream begins now.",
            data={"parameter": LAST_EVENT_ID},
        )
    return Cursor().convert(LAST_EVENT_ID, last)


def _of_header(error: CursorExpired | CursorAhead) -> AgentMailError:
    """The header beats `after`: whoever sends it once more is refused once more."""
    hint = "Read the inbox, then come back without Last-Event-ID: for what comes from now on, or with after=0 for all "
    return error.reworded(hint=f"{hint}that is kept.", data=error.data)


def _written(events: Iterable[JsonObject]) -> bytes:
    return b"".join(
        b"id: %d\nevent: %s\ndata: %s\n\n" % (event["cursor"], event["event"].encode(), orjson.dumps(event))
        for event in events
    )

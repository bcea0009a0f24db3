"""uvicorn's HTTP protocol, with bounds on everything that is read before the application sees it.

The parser keeps a header, a trailer or a target in memory until it is complete, however long it is, so
bytes are counted here before they are parsed.
"""

from __future__ import annotations

import asyncio
import time
from functools import partial
from typing import Any

import httptools
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle
from uvicorn.server import ServerState

from mcp_agent_mail.server.transport import http_refusals
from mcp_agent_mail.server.transport.answers import ANSWERED, BEGAN, OUTPUT, AnswerOutput
from mcp_agent_mail.server.transport.client_kernel import has_taken_all
from mcp_agent_mail.server.transport.connection_end import ConnectionEnd, SpeaksMcp
from mcp_agent_mail.server.transport.connection_limits import ConnectionLimiter
from mcp_agent_mail.server.transport.request_lines import line_of
from mcp_agent_mail.server.transport.request_target import names_another_host

MAX_PIPELINED = 16
"""So many requests may wait on a connection for the one that is being answered."""
UNREAD_BYTES = 64 * 1024
"""So much of a body is still taken when its request was answered without it: the connection can go on afterwards."""
FRAME_RATIO = 16
"""So many bytes of chunks' frames a byte of content may cost, beyond what a head may have. Pieces of one cost 5."""

_HEALTH = b"/health/"
_HEALTH_PATH = _HEALTH.decode()


class BoundedHttp(ConnectionEnd):
    """One connection, and the bounds on what its client may send, leave unfinished or not take."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],  # Any: uvicorn's signature
        _loop: asyncio.AbstractEventLoop | None = None,
        *,
        limiter: ConnectionLimiter,
        speaks_mcp: SpeaksMcp,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop, limiter=limiter, speaks_mcp=speaks_mcp)
        self._is_blocked = False
        self._is_held_up = False
        """The next request waits until the client has taken an answer."""
        self._is_reserved = False
        self._since_content = 0
        """Bytes since the end of the last request or head, less FRAME_RATIO for each of content."""
        self._headers_bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        super().connection_made(transport)
        self._outlet = AnswerOutput(self)
        self._is_reserved = not self._limiter.enter(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Give back what the connection took up, forget requests that have not begun, and tell the running one that its
        client is gone. Nothing that refers to the connection stays with it: the collector comes late.
        """
        self._limiter.leave(self)
        self._forget_pipeline()
        super().connection_lost(exc)
        self._unset_keepalive_if_required()
        self._outlet.ended(is_reset=exc is not None)
        if self._running is not None:  # uvicorn tells the last request alone
            self._running.disconnected = True
            self._running.message_event.set()
        else:
            self._forget_request()

    def eof_received(self) -> None:
        """The client has ended its side, and the transport closes: what has not been sent yet counts for nothing."""
        self._outlet.client_ended(has_read=has_taken_all(self.transport.get_extra_info("socket")))

    def data_received(self, data: bytes) -> None:
        """Count the bytes, then parse them. What breaks a bound, or is no HTTP, is refused; what comes after that is
        dropped.
        """
        if self._is_refused:
            self._drop(data)
            return
        self._unset_keepalive_if_required()
        self._limiter.idle.pop(self, None)
        self._since_content += len(data)
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._end_with_this()
            return
        except httptools.HttpParserError:
            self._refuse_unread()
            return
        if self._since_content > http_refusals.MAX_HEAD_BYTES:
            self._refusal = http_refusals.HEADERS_TOO_LARGE
            self._refuse_unread()
        elif self._dropped_bytes > UNREAD_BYTES:
            self._end_with_this()
            self.close_after_answer()
        elif self._is_reading or self._since_content:
            self._limiter.begin(self)

    def on_message_begin(self) -> None:
        """The first byte of a request has come: its call began now, however long it waits for the one before it."""
        super().on_message_begin()
        self._outlet.client_went_on()
        self.scope[BEGAN] = time.monotonic()  # type: ignore[literal-required]  # ours
        self._is_reading = True
        self._headers_bytes = 0
        self._idle_times = 0

    def on_url(self, url: bytes) -> None:
        self.url += url
        if len(self.url) > http_refusals.MAX_TARGET_BYTES:
            self._stop(http_refusals.TARGET_TOO_LONG)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Count a header or a trailer against MAX_HEADERS and MAX_HEADERS_BYTES; a trailer is not kept. Raises
        RefusedRequest.
        """
        self._headers_bytes += len(name) + len(value)
        if self._headers_bytes > http_refusals.MAX_HEADERS_BYTES or len(self.headers) >= http_refusals.MAX_HEADERS:
            self._stop(http_refusals.HEADERS_TOO_LARGE)
        # Trailers come this way too: behind the body, when the headers have been judged.
        if self._is_in_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Judge the head, and begin the request or put it behind those sent before it. Raises RefusedRequest for no
        room, an unknown transfer coding, a target that names another host, and too many requests in advance.
        """
        if self._is_reserved and not self.url.startswith(_HEALTH):
            self._stop(http_refusals.NO_ROOM)
        codings = [value.strip().lower() for name, value in self.headers if name == b"transfer-encoding"]
        if codings not in ([], [b"chunked"]):
            self._stop(http_refusals.UNKNOWN_CODING)
        if len(self.pipeline) >= MAX_PIPELINED:
            self._stop(http_refusals.TOO_MANY_AT_ONCE)
        if names_another_host(self.url, self.headers):
            self._stop(http_refusals.OTHER_HOST)
        super().on_headers_complete()
        self.cycle.transport = self._outlet  # type: ignore[assignment]  # it writes to it, asks it, and closes it
        if self._is_reserved:
            self.cycle.keep_alive = False
        self._is_in_head = False
        self._since_content = 0
        self._limiter.await_body(self)

    def on_body(self, body: bytes) -> None:
        """Count a piece of a body; what comes after the answer is dropped. Raises RefusedRequest where it is too much
        of all.
        """
        self._since_content = max(0, self._since_content - FRAME_RATIO * len(body))
        if self.cycle.response_complete:
            self._dropped_bytes += len(body)
        elif not self._limiter.hold(self, len(body)):
            self._stop(http_refusals.NO_ROOM)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """The request has come whole: its body counts until its call has ended. Answered already, it leaves us idle."""
        self._is_reading = False
        self._is_in_head = True
        self._since_content = 0
        self._limiter.unfinished.pop(self, None)
        if not self.cycle.response_complete:
            self._body_bytes[self.cycle] = self._limiter.keep(self)
        super().on_message_complete()
        if self.cycle.response_complete:
            self._unset_keepalive_if_required()
            self.timeout_keep_alive_task = self.loop.call_later(
                self.timeout_keep_alive, self.timeout_keep_alive_handler
            )
            self._rest()

    def on_response_complete(self) -> None:
        """Begin the next request sent in advance once the client has taken this answer; without one we are idle."""
        if self._is_refused and not self.pipeline:
            self.server_state.total_requests += 1
            return
        if self._is_blocked and not self.transport.is_closing():
            self._is_held_up = True
            self.flow.pause_reading()
            return
        is_last = not self.pipeline
        super().on_response_complete()
        if is_last and not self._is_reading:
            self._rest()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:  # Any: uvicorn's own ASGI types
        self._running = cycle
        start = partial(super()._start_asgi_task, cycle, self._until_ended(cycle, app))
        if cycle.scope["path"].startswith(_HEALTH_PATH):
            start()
        else:
            host = None if self.client is None else self.client[0]
            self._limiter.lines.begin(start, partial(line_of, cycle.scope["headers"], host))

    def _until_ended(self, cycle: RequestResponseCycle, app: ASGIApp) -> Any:
        async def call(scope: Scope, receive: Receive, send: Send) -> None:
            self.is_streaming = False
            scope[ANSWERED] = self
            scope[OUTPUT] = self._outlet
            try:
                await app(scope, receive, send)
            except asyncio.CancelledError:
                if not self._limiter.is_stopping:
                    raise
                # The stop's time is over: that is told to whoever waits, and is no fault that a log has to tell.
                await _end_at_stop(cycle, send)
            finally:
                self._end_call(cycle)
                if self not in self.connections:  # It is gone.
                    self._forget_request()

        return call

    def _rest(self) -> None:
        """Nothing is asked and nothing is due: what the last request said is not kept for as long as nobody asks."""
        self._forget_request()
        self._limiter.release(self)
        self._limiter.idle[self] = None
        self._dropped_bytes = 0

    def _forget_request(self) -> None:
        """As before the first one. Its call may go on a little, behind its answer."""
        if self.cycle is not None:
            self.cycle.scope = None  # type: ignore[assignment]  # nobody asks for it behind the answer
        self.scope = self.headers = self.cycle = None  # type: ignore[assignment]  # as uvicorn has it then

    def write_answer(self, data: bytes) -> None:
        """Write a piece of an answer, and count anew what the client has not taken where it takes nothing."""
        was_blocked = self._is_blocked
        self.transport.write(data)
        self._limiter.note_written(self)
        if was_blocked and not self.transport.is_closing():
            self._limiter.block(self, self.untaken_bytes())

    def answer_taken(self) -> None:
        """Its time to take it is over; where our side is closed, that to leave begins."""
        if not self._is_blocked:
            self._limiter.unblock(self)
        if self._has_said_all:
            self._limiter.await_leave(self)

    def pause_writing(self) -> None:
        """Not uvicorn's: the rest of an answer would wait where nobody counts it. So it is written as a whole, and the
        next request begins when the client has taken it; but what is streamed waits piece by piece.
        """
        self._is_blocked = True
        if self.is_streaming:
            self.flow.pause_writing()
        self._limiter.block(self, self.untaken_bytes())

    def resume_writing(self) -> None:
        """The client has taken the answer: it counts no more, and a request that waited for that begins."""
        self._is_blocked = False
        self.flow.resume_writing()
        self._limiter.unblock(self)
        self._outlet.resumed()
        if self._is_held_up:
            self._is_held_up = False
            self.on_response_complete()


async def _end_at_stop(cycle: RequestResponseCycle, send: Send) -> None:
    """The answer to what was cancelled; of one that has begun the end alone."""
    if cycle.response_started:
        cycle.disconnected = True
        cycle.transport.close()
        return
    for message in http_refusals.CUT_SHORT:
        await send(message)

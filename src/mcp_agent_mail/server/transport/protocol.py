"""uvicorn's HTTP protocol, with bounds on everything that is read before the application sees it.

The parser keeps a header, a trailer or a target in memory until it is complete, however long it is, so
bytes are counted here before they are parsed. What is refused is answered at once, then the
connection is closed: without reading on for longer than it takes the client to see the answer.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any

import httptools
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from mcp_agent_mail.server.transport import http_refusals
from mcp_agent_mail.server.transport.answers import ANSWERED, BEGAN, OUTPUT, AnswerOutput
from mcp_agent_mail.server.transport.client_kernel import has_taken_all
from mcp_agent_mail.server.transport.connection_limits import ConnectionLimiter
from mcp_agent_mail.server.transport.request_target import take_host

MAX_PIPELINED = 16
"""So many requests may wait on a connection for the one that is being answered."""
UNREAD_BYTES = 64 * 1024
"""So much of a body is still taken when its request was answered without it: the connection can go on afterwards."""
LINGER_BYTES = 16 * 1024 * 1024
"""So much is read and dropped after a refusal: a client that is reset while it sends may never see its answer."""
KEPT_FOR_EVIDENCE = 12
"""So many times longer than others an idle connection is kept whose client may have mail left to read."""

_HEALTH = b"/health/"


class _Refused(Exception):
    """Ends the parser's run; the refusal stands in the protocol."""


class BoundedHttp(HttpToolsProtocol):
    """One connection, and the bounds on what its client may send, leave unfinished or not take."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],  # Any: uvicorn's signature
        _loop: asyncio.AbstractEventLoop | None = None,
        *,
        room: ConnectionLimiter,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.held_bytes = 0
        self.is_streaming = False
        self._body_bytes: dict[RequestResponseCycle, int] = {}
        """Of requests that are complete, until their calls have ended: answered, or not."""
        self._running: RequestResponseCycle | None = None
        self._is_blocked = False
        self._is_held_up = False
        """The next request waits until the client has taken an answer."""
        self._room = room
        self._is_reserved = False
        self._is_reading = False
        """A request has begun and its end has not come."""
        self._is_in_head = True
        self._since_content = 0
        """Bytes since the last content of a body, or since the end of the last request."""
        self._headers_bytes = 0
        self._refusal: http_refusals.Refusal | None = None
        self._is_refused = False  # Nothing is parsed any more.
        self._has_said_all = False
        """Our side of the connection is closed; the client's may be open."""
        self._dropped_bytes = 0
        self._idle_times = 0
        """How often its time to be idle was over since its last request."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        super().connection_made(transport)
        self._outlet = AnswerOutput(self)
        self._is_reserved = not self._room.enter(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Give back what the connection took up, forget requests that have not begun, and tell the running one that its
        client is gone.
        """
        self._room.leave(self)
        self._forget_pipeline()
        super().connection_lost(exc)
        self._outlet.ended(is_reset=exc is not None)
        if self._running is not None:  # uvicorn tells the last request alone
            self._running.disconnected = True
            self._running.message_event.set()

    def eof_received(self) -> None:
        """The client has ended its side, and the transport closes: what has not been sent yet counts for nothing."""
        self._outlet.client_ended(has_read=has_taken_all(self.transport.get_extra_info("socket")))

    def _forget_pipeline(self) -> None:
        """What was sent ahead is never begun."""
        for cycle, _ in self.pipeline:
            self._end_call(cycle)
        self.pipeline.clear()

    def data_received(self, data: bytes) -> None:
        """Count the bytes, then parse them. What breaks a bound, or is no HTTP, is refused; what comes after that is
        dropped.
        """
        if self._is_refused:
            self._drop(data)
            return
        self._unset_keepalive_if_required()
        self._room.idle.pop(self, None)
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
            self._room.begin(self)

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
        _Refused.
        """
        self._headers_bytes += len(name) + len(value)
        if self._headers_bytes > http_refusals.MAX_HEADERS_BYTES or len(self.headers) >= http_refusals.MAX_HEADERS:
            self._stop(http_refusals.HEADERS_TOO_LARGE)
        # Trailers come this way too: behind the body, when the headers have been judged.
        if self._is_in_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Judge the head, and begin the request or put it behind those sent before it. Raises _Refused for no room, an
        unknown transfer coding and too many requests in advance.
        """
        if self._is_reserved and not self.url.startswith(_HEALTH):
            self._stop(http_refusals.NO_ROOM)
        codings = [value.strip().lower() for name, value in self.headers if name == b"transfer-encoding"]
        if codings not in ([], [b"chunked"]):
            self._stop(http_refusals.UNKNOWN_CODING)
        if len(self.pipeline) >= MAX_PIPELINED:
            self._stop(http_refusals.TOO_MANY_AT_ONCE)
        take_host(self.url, self.headers)
        super().on_headers_complete()
        self.cycle.transport = self._outlet  # type: ignore[assignment]  # it writes to it, asks it, and closes it
        if self._is_reserved:
            self.cycle.keep_alive = False
        self._is_in_head = False
        self._since_content = 0
        self._room.await_body(self)

    def on_body(self, body: bytes) -> None:
        """Count a piece of a body; what comes after the answer is dropped. Raises _Refused for too much of all."""
        self._since_content = 0
        if self.cycle.response_complete:
            self._dropped_bytes += len(body)
        elif not self._room.hold(self, len(body)):
            self._stop(http_refusals.NO_ROOM)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """The request has come whole: its body counts until its call has ended. Answered already, it leaves us idle."""
        self._is_reading = False
        self._is_in_head = True
        self._since_content = 0
        self._room.unfinished.pop(self, None)
        if not self.cycle.response_complete:
            self._body_bytes[self.cycle] = self._room.keep(self)
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
        super()._start_asgi_task(cycle, self._until_ended(cycle, app))

    def _until_ended(self, cycle: RequestResponseCycle, app: ASGIApp) -> Any:
        async def call(scope: Scope, receive: Receive, send: Send) -> None:
            self.is_streaming = False
            scope[ANSWERED] = self
            scope[OUTPUT] = self._outlet
            try:
                await app(scope, receive, send)
            finally:
                self._end_call(cycle)

        return call

    def _end_call(self, cycle: RequestResponseCycle) -> None:
        self._room.give_back(self._body_bytes.pop(cycle, 0))
        if self._running is cycle:
            self._running = None

    def _rest(self) -> None:
        """Nothing is asked and nothing is due."""
        self._room.release(self)
        self._room.idle[self] = None
        self._dropped_bytes = 0

    def write_answer(self, data: bytes) -> None:
        """Write a piece of an answer, and count anew what the client has not taken where it takes nothing."""
        was_blocked = self._is_blocked
        self.transport.write(data)
        if was_blocked and not self.transport.is_closing():
            self._room.block(self, self.untaken_bytes())

    def untaken_bytes(self) -> int:
        return self.transport.get_write_buffer_size() + self._outlet.held_bytes()

    def await_taking(self) -> None:
        self._room.block(self, self.untaken_bytes())

    def answer_taken(self) -> None:
        """Its time to take it is over; where our side is closed, that to leave begins."""
        if not self._is_blocked:
            self._room.unblock(self)
        if self._has_said_all:
            self._room.await_leave(self)

    def pause_writing(self) -> None:
        """Not uvicorn's: the rest of an answer would wait where nobody counts it. So it is written as a whole, and the
        next request begins when the client has taken it; but what is streamed waits piece by piece.
        """
        self._is_blocked = True
        if self.is_streaming:
            self.flow.pause_writing()
        self._room.block(self, self.untaken_bytes())

    def resume_writing(self) -> None:
        """The client has taken the answer: it counts no more, and a request that waited for that begins."""
        self._is_blocked = False
        self.flow.resume_writing()
        self._room.unblock(self)
        self._outlet.resumed()
        if self._is_held_up:
            self._is_held_up = False
            self.on_response_complete()

    def evict(self, status: int, detail: str) -> None:
        if self._refuse(status, detail):
            self.close_idle()

    def close_idle(self) -> None:
        """Close; what the client has not taken of its last answer is dropped."""
        if self.untaken_bytes():  # It would stay open until they are taken, and count no more.
            self.abort()
            return
        self._room.leave(self)
        self.transport.close()

    def abort(self) -> None:
        self._room.leave(self)
        self.transport.abort()

    def close_after_answer(self) -> None:
        """Close; but while the client still sends, first let it see the answer."""
        self._forget_pipeline()
        if self.transport.is_closing():
            return
        if not self._is_reading:
            self.is_streaming = False
            if untaken_bytes := self.untaken_bytes():
                self._room.block(self, untaken_bytes)
            self._close_and_hear()
            return
        self._say_all()

    def timeout_keep_alive_handler(self) -> None:
        """Close what has been idle for long. One whose client may have mail left to read has longer: only its next
        request or its end tells whether it has read it.
        """
        if self._outlet.awaits_evidence and self._idle_times < KEPT_FOR_EVIDENCE:
            self._idle_times += 1
            self.timeout_keep_alive_task = self.loop.call_later(
                self.timeout_keep_alive, self.timeout_keep_alive_handler
            )
        else:
            self._close_and_hear()

    def _close_and_hear(self) -> None:
        """Close; but where the client's end may tell that it has read its mail, hear it first."""
        if self.transport.is_closing() or not self._outlet.awaits_evidence:
            self.transport.close()
        else:
            self._say_all()

    def _say_all(self) -> None:
        """Close our side, and drop what still comes until the client closes its own, or its time to do so is over: that
        begins when it has taken an answer of which something is promised.
        """
        self._is_refused = True
        if self._outlet.is_under_way:
            self._room.forget(self)
            self.await_taking()
        else:
            self._room.await_leave(self)
        self.flow.resume_reading()
        if self.transport.can_write_eof():
            self._has_said_all = True
            self.transport.write_eof()

    def _stop(self, refusal: http_refusals.Refusal) -> None:
        self._refusal = refusal
        raise _Refused

    def _refuse_unread(self) -> None:
        """Refuse what came; without a refusal of ours it was no HTTP."""
        refusal = self._refusal or http_refusals.NO_REQUEST
        if refusal.bound is not None:
            self._room.note(refusal.bound)
        self._is_reading = True
        if self._refuse(refusal.status, refusal.detail):
            self.close_after_answer()

    def _refuse(self, status: int, detail: str) -> bool:
        """Nothing is read any more. False when answers are due first, the last of which closes the connection."""
        self._end_with_this()
        self._room.forget(self)
        cycle = self._unanswered()
        if cycle is not None:
            if self.pipeline or cycle.response_started or not cycle.more_body:
                return False
            # The request whose body is refused: to the application its client has left.
            cycle.disconnected = True
            cycle.message_event.set()
            self._outlet.cut()
        if cycle is not None or self._is_in_head:
            self._write_refusal(status, detail)
        return True

    def _unanswered(self) -> RequestResponseCycle | None:
        """The last request whose headers were complete, while its answer is not."""
        cycle: RequestResponseCycle | None = self.cycle  # None before the first request, whatever uvicorn declares
        return None if cycle is None or cycle.response_complete or cycle.disconnected else cycle

    def _end_with_this(self) -> None:
        self._is_refused = True
        if cycle := self._unanswered():
            cycle.keep_alive = False

    def _write_refusal(self, status: int, detail: str) -> None:
        if self._has_said_all or self.transport.is_closing():
            return
        self.transport.write(http_refusals.refusal_answer(status, detail, self.server_state.default_headers))

    def _drop(self, data: bytes) -> None:
        self._dropped_bytes += len(data)
        if self._dropped_bytes > LINGER_BYTES:
            self.abort()

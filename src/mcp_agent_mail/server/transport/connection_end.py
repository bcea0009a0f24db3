"""How a connection ends: refused, made to leave, closed after its answer or when its time to be idle is over.

What is refused is answered at once, then the connection is closed: without reading on for longer than it takes the
client to see the answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from mcp_agent_mail.server.transport import http_refusals
from mcp_agent_mail.server.transport.answers import AnswerOutput
from mcp_agent_mail.server.transport.connection_limits import ConnectionLimiter

LINGER_BYTES = 16 * 1024 * 1024
"""So much is read and dropped after a refusal: a client that is reset while it sends may never see its answer."""
KEPT_FOR_EVIDENCE = 12
"""So many times longer than others an idle connection is kept whose client may have mail left to read."""

SpeaksMcp = Callable[[str, tuple[str, int | None] | None], bool]
"""Whether MCP is spoken at this path of the host and port that a request came to."""


class RefusedRequest(Exception):
    """Ends the parser's run; the refusal stands in the protocol."""


class ConnectionEnd(HttpToolsProtocol):
    """uvicorn's connection, as far as its end goes. Whoever reads requests keeps `_is_reading` and `_is_in_head`,
    and has an `_outlet` for answers.
    """

    _outlet: AnswerOutput

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
        super().__init__(config, server_state, app_state, _loop)
        self.held_bytes = 0
        self.is_streaming = False
        self._body_bytes: dict[RequestResponseCycle, int] = {}
        """Of requests that are complete, until their calls have ended: answered, or not."""
        self._running: RequestResponseCycle | None = None
        self._limiter = limiter
        self._speaks_mcp = speaks_mcp
        self._is_reading = False
        """A request has begun and its end has not come."""
        self._is_in_head = True
        self._refusal: http_refusals.Refusal | None = None
        self._is_refused = False  # Nothing is parsed any more.
        self._has_said_all = False
        """Our side of the connection is closed; the client's may be open."""
        self._dropped_bytes = 0
        self._idle_times = 0
        """How often its time to be idle was over since its last request."""

    def _forget_pipeline(self) -> None:
        """What was sent ahead is never begun."""
        for cycle, _ in self.pipeline:
            self._end_call(cycle)
        self.pipeline.clear()

    def _end_call(self, cycle: RequestResponseCycle) -> None:
        self._limiter.give_back(self._body_bytes.pop(cycle, 0))
        if self._running is cycle:
            self._running = None

    def untaken_bytes(self) -> int:
        return self.transport.get_write_buffer_size() + self._outlet.held_bytes()

    def await_taking(self) -> None:
        self._limiter.block(self, self.untaken_bytes())

    def evict(self, status: int, detail: str) -> None:
        if self._refuse(status, detail):
            self.close_idle()

    def close_idle(self) -> None:
        """Close; what the client has not taken of its last answer is dropped."""
        if self.untaken_bytes():  # It would stay open until they are taken, and count no more.
            self.abort()
            return
        self._limiter.leave(self)
        self.transport.close()

    def abort(self) -> None:
        self._limiter.leave(self)
        self.transport.abort()

    def close_after_answer(self) -> None:
        """Close; but while the client still sends, first let it see the answer."""
        self._forget_pipeline()
        if self.transport.is_closing():
            return
        if not self._is_reading:
            self.is_streaming = False
            if untaken_bytes := self.untaken_bytes():
                self._limiter.block(self, untaken_bytes)
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
            self._limiter.forget(self)
            self.await_taking()
        else:
            self._limiter.await_leave(self)
        self.flow.resume_reading()
        if self.transport.can_write_eof():
            self._has_said_all = True
            self.transport.write_eof()

    def _stop(self, refusal: http_refusals.Refusal) -> None:
        self._refusal = refusal
        raise RefusedRequest

    def _refuse_unread(self) -> None:
        """Refuse what came; without a refusal of ours it was no HTTP."""
        refusal = self._refusal or http_refusals.NO_REQUEST
        if refusal.bound is not None:
            self._limiter.note(refusal.bound)
        self._is_reading = True
        if self._refuse(refusal.status, refusal.detail):
            self.close_after_answer()

    def _refuse(self, status: int, detail: str) -> bool:
        """Nothing is read any more. False when answers are due first, the last of which closes the connection."""
        self._end_with_this()
        self._limiter.forget(self)
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
        headers = self.server_state.default_headers
        # Without a first byte of a request there is no target yet, whatever uvicorn declares.
        target: bytes = getattr(self, "url", b"")
        answer = http_refusals.refusal_answer(
            status, detail, headers, target=target, speaks_mcp=lambda path: self._speaks_mcp(path, self.server)
        )
        self.transport.write(answer)

    def _drop(self, data: bytes) -> None:
        self._dropped_bytes += len(data)
        if self._dropped_bytes > LINGER_BYTES:
            self.abort()

"""What the SDK answers in a session that its client ends at the same moment. It takes the streams that were closed
beside it for a fault of its own: answers once more behind an answer, and raises.
"""

from __future__ import annotations

from mcp.server.streamable_http import StreamableHTTPServerTransport
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_FAULT = b"Error handling POST request"
"""As the SDK says it."""
_TAKEN, _FAILED = 202, 500


class AnswerInSession:
    """One answer of the SDK's, on its way to `send`. `is_ended`: the session ended first, and nothing was sent."""

    def __init__(self, transport: StreamableHTTPServerTransport, send: Send) -> None:
        self._transport = transport
        self._send = send
        self._start: Message | None = None
        self._is_whole = False
        self.status: int | None = None
        self.is_ended = False

    @property
    def is_taken(self) -> bool:
        """Whether it was a notification, which was taken."""
        return self.status == _TAKEN

    async def given(self, answer: ASGIApp, scope: Scope, receive: Receive) -> None:
        """Let the SDK answer."""
        try:
            await answer(scope, receive, self._pass)
        except Exception:
            if not self._transport.is_terminated:
                raise
            self.is_ended = self.is_ended or self.status is None

    async def _pass(self, message: Message) -> None:
        if self._is_whole or self.is_ended:
            return
        if message["type"] == "http.response.start":
            if message["status"] == _FAILED and self._transport.is_terminated:
                self._start = message
                return
            self.status = message["status"]
        elif self._start is not None:
            if _FAULT in message.get("body", b""):
                self.is_ended = True
                return
            start, self._start = self._start, None
            self.status = start["status"]
            await self._send(start)
        await self._send(message)
        self._is_whole = message["type"] == "http.response.body" and not message.get("more_body", False)

"""The sessions that the SDK keeps for us: who may go on with which, how much they keep, and which their clients ended.

An id is no secret: clients log it. A session that a token opened serves whoever shows that token, or one of the same
subject; for everybody else it is one that we do not know. One that was opened without any serves who names it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager

import orjson
from mcp.server.streamable_http import StreamableHTTPServerTransport
from starlette.types import Message, Send

from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.server.mcp import SESSION_HEADER

SESSION_ID = SESSION_HEADER.encode()
MAX_KEPT_BYTES = 2 * 1024 * 1024
"""Of all sessions together, of what their clients said of themselves. Clients say a few hundred bytes."""
Transports = Mapping[str, StreamableHTTPServerTransport]


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenSession:
    """What is known of one beside the SDK's own. `opener` is whose token opened it, if any."""

    size_bytes: int
    opener: str | None


class SessionOpening:
    """An `initialize` that is being answered: with a result, or the session that it is for is none. Its answer is the
    first that names it.
    """

    def __init__(self, session: OpenSession, opened: Callable[[str, SessionOpening], None]) -> None:
        self.session = session
        self._opened = opened
        self._start: Message | None = None
        self.refused: str | None = None
        """The id of the session that had no result."""

    def sending(self, send: Send) -> Send:
        """To where the SDK's answer goes, which is one message behind its head."""

        async def send_once_known(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._start = message
                return
            if self._start is not None:
                start, self._start = self._start, None
                await send(self._judged(start, message.get("body", b"")))
            await send(message)

        return send_once_known

    def _judged(self, start: Message, body: bytes) -> Message:
        name = next((value for key, value in start["headers"] if key == SESSION_ID), b"").decode("latin-1")
        if name and _is_result(body):
            self._opened(name, self)
            return start
        self.refused = name or None
        return {**start, "headers": [one for one in start["headers"] if one[0] != SESSION_ID]}


class OpenSessions:
    """For use on the event loop. `transports` gives the SDK's own, by their ids; it ends them on its own, too."""

    def __init__(self, transports: Callable[[], Transports], *, most: int) -> None:
        self._transports = transports
        self._most = most
        self._opening: set[SessionOpening] = set()
        self._opened: dict[str, OpenSession] = {}
        self._ended: deque[bytes] = deque(maxlen=most)

    def find(self, session: bytes | None, opener: str | None) -> StreamableHTTPServerTransport | None:
        """The one of that id that a request may use which the token of `opener` let in, or none."""
        if session is None:
            return None
        name = session.decode("latin-1")
        opened = self._opened.get(name)
        if opened is None or opened.opener not in (None, opener):
            return None
        return self._transports().get(name)

    def is_open(self, session: bytes) -> bool:
        """Whoever may use it."""
        return session.decode("latin-1") in self._transports()

    def has_room_for(self, size_bytes: int) -> bool:
        """Whether one more may be opened, of a request of that size."""
        transports = self._transports()
        # Those that are opening too: any number may ask before the first of them is answered.
        if len(transports) + len(self._opening) >= self._most:
            return False
        self._opened = {name: opened for name, opened in self._opened.items() if name in transports}
        kept = (*self._opened.values(), *(one.session for one in self._opening))
        kept_bytes = sum(one.size_bytes for one in kept)
        return kept_bytes + size_bytes <= MAX_KEPT_BYTES

    @asynccontextmanager
    async def opening(self, size_bytes: int, opener: str | None) -> AsyncIterator[SessionOpening]:
        """Inside, the SDK opens one. Its bytes count from now on, as the session's once it had a result; without one
        they are given back, and the session, which nobody has heard of, is ended.
        """
        opening = SessionOpening(OpenSession(size_bytes=size_bytes, opener=opener), self._note_opened)
        self._opening.add(opening)
        try:
            yield opening
        finally:
            self._opening.discard(opening)
            transport = None if opening.refused is None else self._transports().get(opening.refused)
            if transport is not None:
                await transport.terminate()

    def _note_opened(self, name: str, opening: SessionOpening) -> None:
        self._opening.discard(opening)
        self._opened[name] = opening.session

    def end(self, session: bytes) -> None:
        """Its client has ended it: whoever goes on with it is told so."""
        self._ended.append(session)

    def has_ended(self, session: bytes | None) -> bool:
        return session in self._ended


def _is_result(body: bytes) -> bool:
    try:
        return "result" in orjson.loads(body)
    except orjson.JSONDecodeError:
        return False

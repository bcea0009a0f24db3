"""The sessions that the SDK keeps for us: who may go on with which, how much they keep, and which their clients ended.

An id is no secret: clients log it. A session that a token opened serves whoever shows that token, or one of the same
subject; for everybody else it is one that we do not know. One that was opened without any serves who names it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import orjson
from mcp.server.streamable_http import StreamableHTTPServerTransport
from starlette.types import Message

from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.server.mcp import SESSION_HEADER

SESSION_ID = SESSION_HEADER.encode()
MAX_KEPT_BYTES = 2 * 1024 * 1024
"""Of all sessions together, of what their clients said of themselves. Clients say a few hundred bytes."""
Transports = Mapping[str, StreamableHTTPServerTransport]


@dataclass(slots=True, kw_only=True, eq=False)
class KeptSession:
    """A session whose `initialize` is being answered, of `size_bytes`. `opener` is whose token opens it, if any.
    `is_accepted`: it had a result; in a session without one the SDK refuses all else.
    """

    size_bytes: int
    opener: str | None
    is_accepted: bool = False


class OpenSessions:
    """For use on the event loop. `transports` gives the SDK's own, by their ids; it ends them on its own, too."""

    def __init__(self, transports: Callable[[], Transports], *, most: int) -> None:
        self._transports = transports
        self._most = most
        self._opening: set[KeptSession] = set()
        self._opened: dict[str, KeptSession] = {}
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

    def is_accepted(self, session: bytes) -> bool:
        opened = self._opened.get(session.decode("latin-1"))
        return opened is not None and opened.is_accepted

    def has_room_for(self, size_bytes: int) -> bool:
        """Whether one more may be opened, of a request of that size."""
        transports = self._transports()
        # Those that are opening too: any number may ask before the first of them is answered.
        if len(transports) + len(self._opening) >= self._most:
            return False
        self._opened = {name: opened for name, opened in self._opened.items() if name in transports}
        kept_bytes = sum(one.size_bytes for one in (*self._opened.values(), *self._opening))
        return kept_bytes + size_bytes <= MAX_KEPT_BYTES

    @contextmanager
    def opening(self, size_bytes: int, opener: str | None) -> Iterator[Callable[[Message], None]]:
        """Inside, the SDK opens one, and what is given is told of each message of its answer. Its bytes count from now
        on, as the session's once an answer names it; without one they are given back.
        """
        opening, name = KeptSession(size_bytes=size_bytes, opener=opener), ""
        self._opening.add(opening)

        def note(message: Message) -> None:
            nonlocal name
            if message["type"] == "http.response.start":
                self._opening.discard(opening)
                name = next((value for key, value in message["headers"] if key == SESSION_ID), b"").decode("latin-1")
                if name:
                    self._opened[name] = opening
            elif name and _is_result(message.get("body", b"")):
                opening.is_accepted = True

        try:
            yield note
        finally:
            self._opening.discard(opening)

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

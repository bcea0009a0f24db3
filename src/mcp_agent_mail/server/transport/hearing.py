"""Whether whoever sent a request is still there: asked by calls that wait, and when the answer to a grant is written.

Every other request pays for one object. A connection says that it is gone by `http.disconnect`, which nobody
reads unless a call waits; what is written to it after that is dropped without a word.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

from starlette.types import Message, Receive, Send

HEARING = "mcp_agent_mail.hearing"
"""Key of a request's `RequestHearing` in its ASGI scope."""

_OK = 200


class RequestHearing:
    """Of one HTTP request, whose body must have been read before anybody watches. Answer it through `send`.

    `close` it in the end: what was promised and has not been written by then was not heard.
    """

    __slots__ = ("_receive", "_send", "_undo")

    def __init__(self, receive: Receive, send: Send) -> None:
        self._receive = receive
        self._send = send
        self._undo: list[Callable[[], None]] = []

    @contextmanager
    def watched(self, tell: Callable[[], None]) -> Iterator[None]:
        """Inside the block `tell` is called, on the event loop and at most once, when the sender of the request goes
        away.
        """
        watching = asyncio.ensure_future(self._watch(tell))
        try:
            yield
        finally:
            watching.cancel()

    async def _watch(self, tell: Callable[[], None]) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        tell()

    def unless_heard(self, undo: Callable[[], None]) -> None:
        self._undo.append(undo)

    def send(self, message: Message) -> Awaitable[None]:
        if self._undo:
            self._judge(message)
        return self._send(message)

    def _judge(self, message: Message) -> None:
        """In the same step as the message is written: nobody can leave in between."""
        if self._has_left() or message.get("status", _OK) != _OK:
            self.close()
        elif message["type"] == "http.response.body" and not message.get("more_body", False):
            self._undo.clear()

    def close(self) -> None:
        """Whatever was promised until now was not heard."""
        undo, self._undo = self._undo, []
        for one in undo:
            one()

    def _has_left(self) -> bool:
        """Without waiting: as far as a look goes that would wait for the next message."""
        look = self._receive().__await__()
        try:
            next(look)
        except StopIteration as read:
            return bool(read.value["type"] == "http.disconnect")
        finally:
            look.close()
        return False

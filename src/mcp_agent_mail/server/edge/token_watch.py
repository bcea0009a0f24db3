"""What lasts longer than the token that opened it ends: a stream, a wait. Its client counts as one that has left."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from starlette.types import Message, Receive, Send

LOOK_EVERY_S = 1.0
"""Streams close within five seconds of a token's end."""
_LEFT: Message = {"type": "http.disconnect"}


class _TokenEnd:
    """It comes once, for all who wait till then."""

    def __init__(self) -> None:
        self.has_come = False
        self._waits: set[asyncio.Timeout] = set()

    def come(self) -> None:
        self.has_come = True
        for wait in self._waits:
            wait.reschedule(0)

    async def received_before(self, receive: Receive) -> Message:
        """What is received, or that the client has left. What is there already is taken without a step of the loop, as
        `receive` does: some ask only whether there is something.
        """
        if self.has_come:
            return _LEFT
        wait = asyncio.timeout(None)
        try:
            async with wait:
                self._waits.add(wait)
                try:
                    return await receive()
                finally:
                    self._waits.remove(wait)
        except TimeoutError:
            if wait.expired():
                return _LEFT
            raise


class TokenWatch:
    """Looks at the tokens of requests that are being answered, while there are some."""

    def __init__(self, *, every_s: float = LOOK_EVERY_S) -> None:
        self._every_s = every_s
        self._watched: dict[_TokenEnd, Callable[[], bool]] = {}
        self._next: asyncio.TimerHandle | None = None

    @contextmanager
    def watching(self, is_live: Callable[[], bool], receive: Receive) -> Iterator[Receive]:
        """Inside, what is received says that the client has left once its token has ended. A body that comes whole
        costs nothing.
        """
        end = _TokenEnd()
        self._watched[end] = is_live
        self._plan()
        has_begun = False

        async def receive_while_live() -> Message:
            nonlocal has_begun
            if not has_begun:
                has_begun = True
                return await receive()
            return await end.received_before(receive)

        try:
            yield receive_while_live
        finally:
            del self._watched[end]

    def _plan(self) -> None:
        if self._next is None and self._watched:
            self._next = asyncio.get_running_loop().call_later(self._every_s, self._look)

    def _look(self) -> None:
        self._next = None
        for end, is_live in self._watched.items():
            if not end.has_come and not is_live():
                end.come()
        self._plan()


class BegunAnswer:
    """An answer that is on its way through `send`, and may be left half sent: whoever answers takes its client to have
    left, and it has not.
    """

    def __init__(self, send: Send) -> None:
        self._send = send
        self._is_open = False

    async def send(self, message: Message) -> None:
        """Pass it on."""
        self._is_open = message["type"] == "http.response.start" or message.get("more_body", False)
        await self._send(message)

    async def end(self) -> None:
        """Bring it to its end, unless it is there."""
        if self._is_open:
            await self.send({"type": "http.response.body", "body": b""})

"""What lasts longer than the token that opened it ends: a stream, a wait. Its client counts as one that has left."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from starlette.types import Message, Receive, Send

LOOK_EVERY_S = 1.0
"""Streams close within five seconds of a token's end."""
_LEFT: Message = {"type": "http.disconnect"}


class TokenWatch:
    """Looks at the tokens of requests that are being answered, while there are some."""

    def __init__(self, *, every_s: float = LOOK_EVERY_S) -> None:
        self._every_s = every_s
        self._watched: dict[asyncio.Event, Callable[[], bool]] = {}
        self._next: asyncio.TimerHandle | None = None

    @contextmanager
    def watching(self, is_live: Callable[[], bool], receive: Receive) -> Iterator[Receive]:
        """Inside, what is received says that the client has left once its token has ended. A body that comes whole
        costs nothing.
        """
        ended = asyncio.Event()
        self._watched[ended] = is_live
        self._plan()
        has_begun = False

        async def receive_while_live() -> Message:
            nonlocal has_begun
            if not has_begun:
                has_begun = True
                return await receive()
            return await _first(receive, ended)

        try:
            yield receive_while_live
        finally:
            del self._watched[ended]

    def _plan(self) -> None:
        if self._next is None and self._watched:
            self._next = asyncio.get_running_loop().call_later(self._every_s, self._look)

    def _look(self) -> None:
        self._next = None
        for ended, is_live in self._watched.items():
            if not ended.is_set() and not is_live():
                ended.set()
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


async def _first(receive: Receive, ended: asyncio.Event) -> Message:
    if ended.is_set():
        return _LEFT
    # Who only looks whether something has come does not wait for the first step of a task.
    look = receive().__await__()
    try:
        next(look)
    except StopIteration as read:
        message: Message = read.value
        return message
    look.close()
    received, end = asyncio.ensure_future(receive()), asyncio.ensure_future(ended.wait())
    try:
        await asyncio.wait({received, end}, return_when=asyncio.FIRST_COMPLETED)
        return received.result() if received.done() else _LEFT
    finally:
        received.cancel()
        end.cancel()

"""Whether whoever sent a request is still there: asked by calls that wait, when the answer to a grant is written, and
when one with mail in it was.

Every other request pays for one object. A connection says that it is gone by `http.disconnect`, which nobody
reads unless a call waits; what is written to it after that is dropped without a word.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

from starlette.types import Message, Receive, Scope, Send

from mcp_agent_mail.core.concurrency.hearing import SentPromise
from mcp_agent_mail.server.transport.answers import BEGAN, OUTPUT, AnswerOutput

HEARING = "mcp_agent_mail.hearing"
"""Key of a request's `RequestHearing` in its ASGI scope."""

_OK = 200


class RequestHearing:
    """Of one HTTP request, whose body must have been read before anybody watches. Answer it through `send`.

    `close` it in the end: what was promised and has not been written by then was not heard. Without the `scope` of a
    connection of ours nothing is known to be sent.
    """

    __slots__ = ("_once_sent", "_output", "_receive", "_send", "_tells", "_undo", "_watching", "began_s")

    def __init__(self, receive: Receive, send: Send, scope: Scope | None = None) -> None:
        self._receive = receive
        self._send = send
        self._tells: list[Callable[[], None]] = []
        self._watching: asyncio.Task[None] | None = None
        self._undo: list[Callable[[], None]] = []
        self._once_sent: list[SentPromise] = []
        self._output: AnswerOutput | None = None if scope is None else scope.get(OUTPUT)
        began_s: float | None = None if scope is None else scope.get(BEGAN)
        self.began_s = time.monotonic() if began_s is None else began_s

    @contextmanager
    def watched(self, tell: Callable[[], None]) -> Iterator[None]:
        """Inside the block `tell` is called, on the event loop and at most once, when the sender of the request goes
        away. Blocks may overlap: one task reads for all of them, since what it reads is said once.
        """
        self._tells.append(tell)
        watching = self._watching
        if watching is None:
            watching = self._watching = asyncio.ensure_future(self._watch())
        elif watching.done():
            asyncio.get_running_loop().call_soon(self._tell)
        try:
            yield
        finally:
            if tell in self._tells:
                self._tells.remove(tell)
            if not self._tells and not watching.done():
                watching.cancel()
                self._watching = None

    async def _watch(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self._tell()

    def _tell(self) -> None:
        tells, self._tells = self._tells, []
        for tell in tells:
            tell()

    def unless_heard(self, undo: Callable[[], None]) -> None:
        self._undo.append(undo)

    def once_sent(self, promise: SentPromise) -> None:
        if self._output is not None:
            self._once_sent.append(promise)

    def is_error(self) -> None:
        """The answer is an error instead: what was to be in it is not."""
        self._once_sent.clear()

    def send(self, message: Message) -> Awaitable[None]:
        if self._undo:
            self._judge(message)
        return self._send_told(message) if self._once_sent else self._send(message)

    async def _send_told(self, message: Message) -> None:
        if message.get("status", _OK) != _OK:
            self.is_error()
        if self._output is None or not _is_last(message):
            await self._send(message)
            return
        promises, self._once_sent = self._once_sent, []
        # The connection writes without waiting, so that nobody can have come in between.
        try:
            with self._output.ending(promises):
                await self._send(message)
        except BaseException:
            for promise in promises:
                promise.cut()
            raise

    def _judge(self, message: Message) -> None:
        """In the same step as the message is written: nobody can leave in between."""
        if self._has_left() or message.get("status", _OK) != _OK:
            self.close()
        elif _is_last(message):
            self._undo.clear()

    def close(self) -> None:
        """Whatever was promised until now was not heard."""
        self._once_sent.clear()
        undo, self._undo = self._undo, []
        for one in undo:
            one()

    def _has_left(self) -> bool:
        """Without waiting: only what has come already is read."""
        waiting = self._receive().__await__()
        try:
            next(waiting)
        except StopIteration as read:
            return bool(read.value["type"] == "http.disconnect")
        finally:
            waiting.close()
        return False


def _is_last(message: Message) -> bool:
    return message["type"] == "http.response.body" and not message.get("more_body", False)

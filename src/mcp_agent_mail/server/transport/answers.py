"""How an answer is written: as a whole, or piece by piece, each when the client has taken what came before.

And when it was sent: once its last byte has been written to the socket, not to a buffer of ours; of a long one, once
our kernel has little of it left, which takes megabytes for a client that reads none of them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

from starlette.types import Scope

from mcp_agent_mail.core.concurrency.hearing import SentPromise
from mcp_agent_mail.server.transport.client_kernel import has_acknowledged, unacknowledged_bytes

ANSWERED = "mcp_agent_mail.answered"
"""Key in the ASGI scope of the connection that is answered, where the server has one of its own."""
OUTPUT = "mcp_agent_mail.output"
"""Key of that connection's `AnswerOutput`."""
PREFIX = "mcp_agent_mail.prefix"
"""Key of the part of the address at which a parent application, or a proxy, has this one; empty without one."""
BEGAN = "mcp_agent_mail.began"
"""Key of when the first byte of the request came, by `time.monotonic`."""
KERNEL_BYTES = 64 * 1024
"""With more of it in our kernel an answer is not sent yet."""
LOOK_AGAIN_S = 0.05
MAX_UNCERTAIN = 32
"""Of one connection, of so many answers last sent it is found out whether they were read."""


class AnsweredConnection(Protocol):
    transport: asyncio.Transport
    is_streaming: bool

    def write_answer(self, data: bytes) -> None:
        """Write a piece of an answer."""

    def close_after_answer(self) -> None:
        """Close once the client can have read it."""

    def await_taking(self) -> None:
        """An answer waits in our kernel for its client, which has the time that clients have to take one."""

    def answer_taken(self) -> None:
        """It waits no more."""


class _NobodyAnswered:
    """In the place of a connection that is gone: nothing is kept of it for whoever answers it all the same."""

    transport: asyncio.Transport
    is_streaming = False

    def write_answer(self, data: bytes) -> None:
        pass

    def close_after_answer(self) -> None:
        pass

    def await_taking(self) -> None:
        pass

    def answer_taken(self) -> None:
        pass


_NOBODY = _NobodyAnswered()


class AnswerOutput:
    """What a request's answer is written to: the connection, which is closed only once its client can have read it.

    It knows when an answer has been sent. What the transport does not hold any more was written to the socket or, once
    the connection had failed, thrown away: so nothing counts as sent after the first byte that was.
    """

    __slots__ = (
        "_believed",
        "_connection",
        "_is_cut",
        "_is_ending",
        "_is_to_close",
        "_look_again",
        "_transport",
        "_uncertain",
        "_under_way",
        "is_closing",
    )

    def __init__(self, connection: AnsweredConnection) -> None:
        self._connection: AnsweredConnection = connection
        self._transport = connection.transport
        self.is_closing = connection.transport.is_closing
        self._is_cut = False
        self._is_ending = False
        self._is_to_close = False
        self._under_way: list[SentPromise] = []
        self._look_again: asyncio.TimerHandle | None = None
        self._uncertain: Sequence[SentPromise] = ()
        self._believed: Sequence[SentPromise] = ()
        """Taken for read, while no answer after them has been."""

    @property
    def is_under_way(self) -> bool:
        """Whether an answer of which something is promised was written and is not sent yet."""
        return bool(self._under_way)

    def held_bytes(self) -> int:
        """Of such an answer, what our kernel has and the client's has not."""
        return 0 if self._look_again is None else unacknowledged_bytes(self._transport.get_extra_info("socket"))

    @property
    def awaits_evidence(self) -> bool:
        """Whether what the client does next may tell that it has read an answer, or that it has not."""
        return bool(self._uncertain or self._under_way)

    def write(self, data: bytes) -> None:
        """A piece of the answer; once the client is gone nothing, and no promise of the answer is kept."""
        if self.is_closing():  # uvloop raises for what is written to a connection that is gone
            self.cut()
            return
        self._connection.write_answer(data)
        if self.is_closing():  # The write has found out that the client is gone.
            self.cut()

    @contextmanager
    def ending(self, promises: Iterable[SentPromise]) -> Iterator[None]:
        """Around the writing of an answer's last piece: its promises are kept first, then the connection is closed if
        it is to be.
        """
        self._is_ending = True
        try:
            yield
            self.tell_sent(promises)
        finally:
            self._is_ending = False
            if self._is_to_close:
                self._connection.close_after_answer()

    def tell_sent(self, promises: Iterable[SentPromise]) -> None:
        """Keep the promises of the answer that has just been written as a whole, once the socket has taken it all."""
        self._under_way.extend(promises)
        if self._is_cut:
            self.cut()
        elif self._transport.get_write_buffer_size():
            # With bounds of zero the transport says when it has written the last byte.
            self._transport.set_write_buffer_limits(high=0)
        else:
            self._look()

    def resumed(self) -> None:
        """The transport takes more, and has lost nothing of what it took."""
        if self._under_way and not self._transport.get_write_buffer_size():
            self._transport.set_write_buffer_limits()
            self._look()

    def _look(self) -> None:
        """Has the answer been sent whose last byte may be out of our hands?"""
        if not self._under_way or self._transport.get_write_buffer_size():
            return
        self._wait_no_more()
        if unacknowledged_bytes(self._transport.get_extra_info("socket")) <= KERNEL_BYTES:
            self._all_written()
            self._connection.answer_taken()
            return
        self._look_again = asyncio.get_running_loop().call_later(LOOK_AGAIN_S, self._look)
        self._connection.await_taking()

    def _wait_no_more(self) -> None:
        if self._look_again is not None:
            self._look_again.cancel()
            self._look_again = None

    def _all_written(self) -> None:
        sent, self._under_way = self._under_way, []
        self._uncertain = (*self._uncertain, *sent)[-MAX_UNCERTAIN:]
        for promise in sent:
            promise.sent()

    def cut(self) -> None:
        """Something of an answer is lost, or may be: nothing counts as sent any more."""
        self._is_cut = True
        self._wait_no_more()
        lost, self._under_way = self._under_way, []
        for promise in lost:
            promise.cut()

    def client_went_on(self) -> None:
        """Its next request begins: it has read what was sent before, unless its kernel has not even got that, or it
        resets the connection before it has read more.
        """
        self._look()
        if self._uncertain and has_acknowledged(self._transport.get_extra_info("socket")):
            self._believed = self._settled()
            for promise in self._believed:
                promise.read()

    def client_ended(self, *, has_read: bool) -> None:
        """It has ended its side, in order or not. What has not been sent by now is read by nobody."""
        if has_read:
            self._look()
        self.cut()
        if not has_read:
            self._disprove()
        for promise in self._settled():
            promise.read()

    def ended(self, *, is_reset: bool) -> None:
        """The connection is gone. A client that resets it has not read all that was sent."""
        self.cut()
        if is_reset:
            self._disprove()
        self._settled()
        self._connection = _NOBODY

    def _disprove(self) -> None:
        """Asking again has proven nothing of the last answers that were taken for read."""
        for promise in (*self._believed, *self._settled()):
            promise.unread()
        self._believed = ()

    def _settled(self) -> Sequence[SentPromise]:
        uncertain, self._uncertain = self._uncertain, ()
        return uncertain

    def close(self) -> None:
        """Close the connection after this answer: not before its promises are kept."""
        if self._is_ending:
            self._is_to_close = True
        else:
            self._connection.close_after_answer()


def begin_stream(scope: Scope) -> None:
    """From now on `send` waits until the client can take more: to be said before a long answer begins."""
    connection: AnsweredConnection | None = scope.get(ANSWERED)
    if connection is not None:
        connection.is_streaming = True

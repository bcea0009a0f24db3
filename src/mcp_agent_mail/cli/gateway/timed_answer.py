"""An HTTP answer that has a time as a whole. `http.client` bounds each read alone, and answers before the answer not at
all: a server that sends a byte now and then would be listened to for ever.

Imported only where a server is asked: `http.client` takes 0.04 s.
"""

from __future__ import annotations

import http.client
import io
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import socket

    from _typeshed import WriteableBuffer

MAX_HEAD_BYTES = 256 * 1024
"""Of an answer's head, with all answers that come before it (100 Continue)."""
_LOOK_EVERY_S = 0.5
"""A Ctrl-C in the instant before a read blocks is seen by Python only when it ends: a wait is cut into pieces."""


class HeadTooLong(Exception):
    """What comes before the body does not end where that of any server of ours would have."""


class AnswerTime:
    """The time that the answer under way has: `begin` for each, `end_head` behind its head."""

    def __init__(self, within_s: float, *, now: Callable[[], float] = time.monotonic) -> None:
        self._within_s = within_s
        self._now = now
        self._until = 0.0
        self._head_bytes: int | None = None
        self._is_each_read = False

    def begin(self) -> None:
        """The answer as a whole has so long from here."""
        self._until = self._now() + self._within_s
        self._head_bytes = MAX_HEAD_BYTES
        self._is_each_read = False

    def end_head(self, *, is_download: bool = False) -> None:
        """The body's length is for its reader to bound. A download may take longer, while something comes of it within
        the time of an answer.
        """
        self._head_bytes = None
        self._is_each_read = is_download

    def read_into(self, buffer: WriteableBuffer, source: socket.socket) -> int:
        """As `recv_into`. Raises TimeoutError, and HeadTooLong."""
        if self._is_each_read:
            self._until = self._now() + self._within_s
        while (left_s := self._until - self._now()) > 0:
            source.settimeout(min(_LOOK_EVERY_S, left_s))
            try:
                count = source.recv_into(buffer)
            except TimeoutError:
                continue
            self._count(count)
            return count
        raise TimeoutError

    def _count(self, received: int) -> None:
        if self._head_bytes is not None:
            self._head_bytes -= received
            if self._head_bytes < 0:
                raise HeadTooLong


class _TimedReader(io.RawIOBase):
    def __init__(self, source: socket.socket, held: io.BufferedReader, answer_time: AnswerTime) -> None:
        super().__init__()
        self._source = source
        self._held = held
        """The socket stays open as long as this does, though its connection lets go of it behind the head."""
        self._answer_time = answer_time

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        return self._answer_time.read_into(buffer, self._source)

    def close(self) -> None:
        self._held.close()
        super().close()


def responses_within(answer_time: AnswerTime) -> type[http.client.HTTPResponse]:
    """What a connection reads its answers by (`response_class`)."""

    class TimedResponse(http.client.HTTPResponse):
        # As the base class takes them.
        def __init__(self, sock: socket.socket, *arguments: Any, **named: Any) -> None:
            super().__init__(sock, *arguments, **named)
            self.fp = io.BufferedReader(_TimedReader(sock, self.fp, answer_time))

    return TimedResponse

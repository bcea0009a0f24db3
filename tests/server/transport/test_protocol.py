"""One connection without a socket: what it takes of a client that was refused, and of one that takes nothing."""

from __future__ import annotations

import asyncio
import logging
import socket
from typing import Any

import pytest
from uvicorn.config import Config
from uvicorn.server import ServerState

from mcp_agent_mail.core.concurrency.hearing import SentPromise
from mcp_agent_mail.server.transport.connection_limits import ConnectionLimiter
from mcp_agent_mail.server.transport.http_refusals import MAX_TARGET_BYTES
from mcp_agent_mail.server.transport.protocol import KEPT_FOR_EVIDENCE, LINGER_BYTES, BoundedHttp

PIECE = 1024 * 1024
HIGH_WATER = 64 * 1024
REQUEST = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
ENDS_WITHIN_S = 20


class FakeTransport(asyncio.Transport):
    """Of a client that takes nothing: `untaken` bytes lie here. As uvloop's, it raises when it is gone."""

    def __init__(self) -> None:
        super().__init__()
        self.untaken = 0
        self.written = b""
        self.ended_by: str | None = None
        self.deaf: BoundedHttp | None = None
        self.has_said_all = False
        self.socket: socket.socket | None = None

    def write(self, data: Any) -> None:
        if self.ended_by == "abort":
            raise RuntimeError
        self.written += data
        if self.deaf is not None:
            was_below, self.untaken = self.untaken <= HIGH_WATER, self.untaken + len(data)
            if was_below and self.untaken > HIGH_WATER:
                self.deaf.pause_writing()

    def get_write_buffer_size(self) -> int:
        return self.untaken

    def is_closing(self) -> bool:
        return self.ended_by is not None

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        self.has_said_all = True

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self.socket if name == "socket" else default

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass

    def close(self) -> None:
        self.ended_by = self.ended_by or "close"

    def abort(self) -> None:
        self.ended_by = "abort"


async def never_asked(scope: Any, receive: Any, send: Any) -> None:
    pass


def connected(app: Any = never_asked) -> tuple[BoundedHttp, FakeTransport, ConnectionLimiter]:
    room = ConnectionLimiter(lambda: 1_000.0)
    protocol = BoundedHttp(Config(app, log_config=None), ServerState(), {}, room=room)
    transport = FakeTransport()
    protocol.connection_made(transport)
    return protocol, transport, room


async def answer(send: Any, body: bytes) -> None:
    length = (b"content-length", b"%d" % len(body))
    await send({"type": "http.response.start", "status": 200, "headers": [length]})
    await send({"type": "http.response.body", "body": body})


async def test_of_a_refused_client_so_much_is_dropped_and_no_more() -> None:
    protocol, transport, _ = connected()
    protocol.data_received(b"GET /" + b"a" * (MAX_TARGET_BYTES + 1))
    for _ in range(LINGER_BYTES // PIECE):
        protocol.data_received(b"a" * PIECE)
    within = transport.ended_by
    protocol.data_received(b"a")

    assert transport.written.startswith(b"HTTP/1.1 414 ")
    assert (within, transport.ended_by) == (None, "abort")


async def test_a_connection_that_makes_room_does_not_wait_for_its_answer_to_be_taken() -> None:
    taking, transport, _ = connected()
    deaf, deafs, _ = connected()
    deafs.untaken = 1
    taking.close_idle()
    deaf.close_idle()

    assert (transport.ended_by, deafs.ended_by) == ("close", "abort")


async def test_an_answer_that_is_not_taken_is_counted_as_a_whole() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:  # noqa: ARG001  # ASGI's
        await answer(send, b"a" * PIECE)

    protocol, transport, room = connected(app)
    transport.deaf, transport.untaken = protocol, HIGH_WATER
    protocol.data_received(REQUEST)
    await asyncio.wait(set(protocol.tasks), timeout=ENDS_WITHIN_S)

    assert room.untaken_bytes == transport.untaken > HIGH_WATER + PIECE


@pytest.mark.parametrize("is_told", [False, True])
async def test_what_is_answered_to_a_connection_that_was_cut_off_is_dropped(
    is_told: bool, caplog: pytest.LogCaptureFixture
) -> None:
    begun, may_end = asyncio.Event(), asyncio.Event()
    caplog.set_level(logging.ERROR)

    async def app(scope: Any, receive: Any, send: Any) -> None:  # noqa: ARG001  # ASGI's
        begun.set()
        await may_end.wait()
        await answer(send, b"too late")

    protocol, transport, _ = connected(app)
    protocol.data_received(REQUEST * 2)
    await begun.wait()
    running = set(protocol.tasks)
    protocol.abort()
    if is_told:
        protocol.connection_lost(None)
    may_end.set()
    await asyncio.wait(running, timeout=ENDS_WITHIN_S)

    assert transport.written == b""
    assert caplog.records == []


async def mail_sent(told: list[str]) -> tuple[BoundedHttp, FakeTransport]:
    """A connection whose last answer may be read by now, or may not."""
    protocol, transport, _ = connected()
    promise = SentPromise(lambda: told.append("sent"), lambda: told.append("read"), lambda: told.append("unread"))
    protocol._outlet.tell_sent([promise])
    return protocol, transport


async def test_an_idle_connection_is_closed() -> None:
    protocol, transport, _ = connected()

    protocol.timeout_keep_alive_handler()

    assert transport.ended_by == "close"


async def test_one_that_may_still_tell_whether_its_mail_was_read_is_kept_for_long_and_then_heard_to_its_end() -> None:
    told: list[str] = []
    protocol, transport = await mail_sent(told)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        transport.socket = ours
        kept = []
        for _ in range(KEPT_FOR_EVIDENCE + 1):
            kept.append((transport.has_said_all, transport.ended_by))
            protocol.timeout_keep_alive_handler()
        said_all = (transport.has_said_all, transport.ended_by)
        protocol.eof_received()

    assert kept == [(False, None)] * (KEPT_FOR_EVIDENCE + 1)
    assert said_all == (True, None)
    assert told == ["sent", "read"]


async def test_what_its_client_has_not_taken_when_it_ends_is_not_read() -> None:
    told: list[str] = []
    protocol, transport = await mail_sent(told)
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.sendall(b"mail")
        transport.socket = ours
        protocol.eof_received()

    assert told == ["sent", "unread"]

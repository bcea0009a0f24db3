"""One connection without a socket: what it keeps of a client that takes nothing."""

from __future__ import annotations

import asyncio
import gc
import logging
import socket
import weakref
from typing import Any

import pytest
from uvicorn.config import Config
from uvicorn.server import ServerState

from mcp_agent_mail.server.transport.connection_limits import ConnectionLimiter
from mcp_agent_mail.server.transport.protocol import BoundedHttp

PIECE = 1024 * 1024
HIGH_WATER = 64 * 1024
REQUEST = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
HALF_BODY = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n" + b"a" * 1_000
ENDS_WITHIN_S = 20


class FakeTransport(asyncio.Transport):
    """Of a client that takes nothing: `untaken` bytes lie here. As uvloop's, it raises when it is gone."""

    def __init__(self) -> None:
        super().__init__()
        self.untaken = 0
        self.written = b""
        self.ended_by: str | None = None
        self.stalls: BoundedHttp | None = None
        self.has_said_all = False
        self.socket: socket.socket | None = None

    def write(self, data: Any) -> None:
        if self.ended_by == "abort":
            raise RuntimeError
        self.written += data
        if self.stalls is not None:
            was_below, self.untaken = self.untaken <= HIGH_WATER, self.untaken + len(data)
            if was_below and self.untaken > HIGH_WATER:
                self.stalls.pause_writing()

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
    limiter = ConnectionLimiter(lambda: 1_000.0)
    config = Config(app, log_config=None)
    protocol = BoundedHttp(config, ServerState(), {}, limiter=limiter, speaks_mcp=lambda *_: False)
    transport = FakeTransport()
    protocol.connection_made(transport)
    return protocol, transport, limiter


async def answer(send: Any, body: bytes) -> None:
    length = (b"content-length", b"%d" % len(body))
    await send({"type": "http.response.start", "status": 200, "headers": [length]})
    await send({"type": "http.response.body", "body": body})


async def test_an_answer_that_is_not_taken_is_counted_as_a_whole() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:  # noqa: ARG001  # ASGI's
        await answer(send, b"a" * PIECE)

    protocol, transport, limiter = connected(app)
    transport.stalls, transport.untaken = protocol, HIGH_WATER
    protocol.data_received(REQUEST)
    await asyncio.wait(set(protocol.tasks), timeout=ENDS_WITHIN_S)

    assert limiter.untaken_bytes == transport.untaken > HIGH_WATER + PIECE


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


@pytest.mark.parametrize(
    ("sent", "end"),
    [
        pytest.param(REQUEST, "close", id="answered"),
        pytest.param(REQUEST[:20], "close", id="half a head"),
        pytest.param(REQUEST[:20], "evict", id="half a head, refused"),
        pytest.param(HALF_BODY, "close", id="half a body"),
        pytest.param(HALF_BODY, "evict", id="half a body, refused"),
        pytest.param(REQUEST, "reset", id="reset"),
    ],
)
async def test_a_connection_that_has_ended_is_forgotten_without_the_collector(sent: bytes, end: str) -> None:
    """Dead connections that refer to each other in circles lie about with their bodies until the collector comes."""

    async def app(scope: Any, receive: Any, send: Any) -> None:  # noqa: ARG001  # ASGI's
        while (message := await receive())["type"] == "http.request":
            if not message.get("more_body", False):
                await answer(send, b"there")
                return

    protocol, transport, _ = connected(app)
    protocol.data_received(sent)
    tasks = set(protocol.tasks)
    if sent == REQUEST:
        await asyncio.wait(tasks, timeout=ENDS_WITHIN_S)
    gc.collect()
    gc.disable()
    try:
        if end == "evict":
            protocol.evict(408, "Too late.")
        protocol.connection_lost(ConnectionResetError() if end == "reset" else None)
        if tasks:
            await asyncio.wait(tasks, timeout=ENDS_WITHIN_S)
        tasks.clear()
        await asyncio.sleep(0)
        left = weakref.ref(protocol)
        del protocol, transport
        assert left() is None, [str(one)[:200] for one in gc.get_referrers(left())]
    finally:
        gc.enable()

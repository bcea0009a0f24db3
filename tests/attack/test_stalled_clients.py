"""Clients that stop in the middle, of what they send or of what they are sent: each has its time, and then it is gone.

With times and ticks that are shorter than a server's; how long they are there is told by `connection_limits`.
"""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable
from contextlib import suppress

import pytest
from starlette.types import Receive, Scope, Send

from mcp_agent_mail.server.dispatch import RequestFacts
from mcp_agent_mail.server.edge.paths import ByPath
from mcp_agent_mail.server.transport import connection_limits, web_server
from mcp_agent_mail.server.transport.answers import begin_stream
from mcp_agent_mail.server.transport.connection_limits import ConnectionLimiter, LimitReached
from mcp_agent_mail.server.transport.http import HttpApp, Route
from tests.attack.test_unread_requests import ANSWERED_WITHIN_S, HEAD, POST, say, status_of
from tests.server.hosted import hosted, toy_app

SHORTLY_S = 0.1
LITTLE = 40_000
"""Less than a transport says of that it waits, and more than the kernels of both sides keep here."""
STREAM = "/stream"


@pytest.fixture(autouse=True)
def _quick_ticks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web_server, "TICK_S", SHORTLY_S / 2)


@pytest.mark.parametrize("begun", [b"", HEAD[:10], HEAD], ids=["nothing", "a target", "headers"])
async def test_a_head_that_does_not_come_to_its_end_is_408(begun: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_limits, "HEAD_WITHIN_S", SHORTLY_S)
    async with hosted(toy_app()) as url:
        heard, _ = await say(url, begun)

    assert status_of(heard) == 408
    assert b"retry-after: 1\r\n" in heard
    assert b"connection: close\r\n" in heard


@pytest.mark.parametrize(
    "begun",
    [b"Content-Length: 100\r\n\r\n{", b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n"],
    ids=["length", "chunks"],
)
async def test_a_body_that_stalls_is_408(begun: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_limits, "BODY_STALLS_S", SHORTLY_S)
    async with hosted(toy_app()) as url:
        heard, _ = await say(url, POST + begun)

    assert (status_of(heard), heard.count(b"HTTP/1.1 ")) == (408, 1)


async def test_a_body_that_drips_is_408_however_often_a_byte_of_it_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_limits, "BODY_WITHIN_S", 3 * SHORTLY_S)
    async with hosted(toy_app()) as url:
        reader, writer = await asyncio.open_connection("127.0.0.1", int(url.rpartition(":")[2]))
        writer.write(POST + b"Content-Length: 1000000\r\n\r\n")

        async def drip() -> None:
            with suppress(ConnectionError):
                while True:
                    writer.write(b" ")
                    await writer.drain()
                    await asyncio.sleep(SHORTLY_S / 10)

        dripping = asyncio.create_task(drip())
        async with asyncio.timeout(ANSWERED_WITHIN_S):
            heard = await reader.read(10_000)
        dripping.cancel()
        writer.close()

    assert status_of(heard) == 408


async def _until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(ANSWERED_WITHIN_S):
        while not is_so():  # noqa: ASYNC110  # nobody tells a test
            await asyncio.sleep(SHORTLY_S / 10)


def _streaming(stream: Route) -> HttpApp:
    app = toy_app()
    app._routes = ByPath({STREAM: stream})
    return app


async def _deaf(url: str, request: bytes) -> socket.socket:
    """A connection that asks, and reads nothing of what it is sent."""
    deaf = socket.socket()
    deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    deaf.setblocking(False)
    loop = asyncio.get_running_loop()
    await loop.sock_connect(deaf, ("127.0.0.1", int(url.rpartition(":")[2])))
    await loop.sock_sendall(deaf, request)
    return deaf


async def test_who_takes_nothing_of_a_little_that_it_is_sent_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_limits, "TAKEN_WITHIN_S", SHORTLY_S)
    room = ConnectionLimiter(time.monotonic)
    body = b'{"text":"%s"}' % (b"a" * LITTLE)
    async with hosted(toy_app(), limiter=room, kernel_keeps_bytes=4_096) as url:
        with await _deaf(url, POST + b"Content-Length: %d\r\n\r\n" % len(body) + body):
            await _until(lambda: room.figures().untaken == 1)
            await _until(lambda: room.figures().open == 0)

    assert room.figures().turned_away == {LimitReached.TIME: 1}


async def test_a_stream_whose_reader_takes_nothing_of_a_little_is_gone_and_its_call_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connection_limits, "TAKEN_WITHIN_S", SHORTLY_S)
    room, left = ConnectionLimiter(time.monotonic), asyncio.Event()

    async def stream(scope: Scope, _: RequestFacts, receive: Receive, send: Send) -> None:
        begin_stream(scope)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"a" * LITTLE, "more_body": True})
        while (await receive())["type"] != "http.disconnect":
            pass
        left.set()

    async with hosted(_streaming(stream), limiter=room, kernel_keeps_bytes=4_096) as url:
        with await _deaf(url, b"GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n" % STREAM.encode()):
            async with asyncio.timeout(ANSWERED_WITHIN_S):
                await left.wait()

    assert room.figures().turned_away == {LimitReached.TIME: 1}


async def test_a_stream_that_is_silent_stays_while_its_reader_has_all_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_limits, "TAKEN_WITHIN_S", SHORTLY_S)
    room, may_end = ConnectionLimiter(time.monotonic), asyncio.Event()
    sweeps, sweep = list[int](), room.sweep

    def counted() -> None:
        sweep()
        sweeps.append(1)

    monkeypatch.setattr(room, "sweep", counted)

    async def stream(scope: Scope, _: RequestFacts, _receive: Receive, send: Send) -> None:
        begin_stream(scope)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"first ", "more_body": True})
        await may_end.wait()
        await send({"type": "http.response.body", "body": b"last"})

    async with hosted(_streaming(stream), limiter=room) as url:
        reader, writer = await asyncio.open_connection("127.0.0.1", int(url.rpartition(":")[2]))
        writer.write(b"GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n" % STREAM.encode())
        await reader.readuntil(b"first ")
        await _until(lambda: len(sweeps) > 10)
        may_end.set()
        async with asyncio.timeout(ANSWERED_WITHIN_S):
            rest = await reader.read()
        writer.close()

    assert b"last" in rest
    assert room.figures().turned_away == {}

"""The web server's own part of uvicorn: signals, the order of a stop, and what is kept within bounds."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import socket
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from urllib.parse import urlsplit

import httpx
import pytest
import uvloop

from mcp_agent_mail.core.tools import Json, tool
from mcp_agent_mail.server.mcp_endpoint import MAX_STREAMS
from mcp_agent_mail.server.transport.connection_limits import HEAD_WITHIN_S, ConnectionLimiter, ConnectionLimits
from mcp_agent_mail.server.transport.http import HttpApp
from mcp_agent_mail.server.transport.http_refusals import MAX_HEADERS
from mcp_agent_mail.server.transport.listener import open_listener
from mcp_agent_mail.server.transport.web_server import ACCEPTED_AT_ONCE, WebServer
from tests.server.hosted import hosted, toy_app
from tests.server.test_mcp import HANDSHAKE, JSON_HEADERS
from tests.server.transport.test_connection_limits import Clock, FakeGuest

WITHIN_S = 20.0
FORCED_WITHIN_S = 1.0
"""A stop that waits for nobody is over by then."""
GRACE_S = 30.0
"""Longer than a test waits: what ends sooner did not wait for it."""


class Waiting:
    """An application with a tool that answers once it may, and what its server tells."""

    def __init__(self) -> None:
        self.begun, self.may_end = asyncio.Event(), asyncio.Event()
        self.started, self.stopping = asyncio.Event(), asyncio.Event()
        self.told: list[str] = []
        self.app = toy_app(more_tools=(tool(self._wait, cluster="toys", title="Wait"),))

    async def _wait(self) -> Json:
        """Wait."""
        self.begun.set()
        await self.may_end.wait()
        self.told.append("answered")
        return {"waited": True}

    def _stop(self) -> None:
        self.told.append("stopping")
        self.stopping.set()

    @asynccontextmanager
    async def served(self, grace_s: float = GRACE_S) -> AsyncIterator[tuple[str, asyncio.Task[None]]]:
        """The base URL, and the task that ends when the server does."""
        with open_listener("127.0.0.1", 0) as listener:
            server = WebServer(
                self.app,
                grace_s=grace_s,
                on_started=self.started.set,
                on_stopping=self._stop,
            )
            async with self.app.opened():
                serving = asyncio.create_task(server.serve(sockets=[listener]))
                await asyncio.wait_for(self.started.wait(), WITHIN_S)
                yield f"http://127.0.0.1:{listener.getsockname()[1]}", serving


def signalled(number: signal.Signals) -> None:
    os.kill(os.getpid(), number)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_lets_the_calls_under_way_end_and_then_the_server(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    waiting = Waiting()
    async with waiting.served() as (url, serving), httpx.AsyncClient(timeout=60) as client:
        call = asyncio.create_task(client.post(f"{url}/rpc/_wait", json={}))
        await waiting.begun.wait()

        signalled(number)
        await waiting.stopping.wait()
        waiting.may_end.set()
        answer = await asyncio.wait_for(call, WITHIN_S)
        await asyncio.wait_for(serving, WITHIN_S)

    assert answer.json() == {"waited": True}
    assert waiting.told == ["stopping", "answered"]
    assert signal.getsignal(number) == before


async def test_a_terminal_that_closes_stops_it_as_one_signal_does_however_often_that_is_told() -> None:
    waiting = Waiting()
    async with waiting.served() as (url, serving), httpx.AsyncClient(timeout=60) as client:
        call = asyncio.create_task(client.post(f"{url}/rpc/_wait", json={}))
        await waiting.begun.wait()

        for number in (signal.SIGHUP, signal.SIGHUP, signal.SIGTERM, signal.SIGHUP):
            signalled(number)
            await asyncio.sleep(0)
        await waiting.stopping.wait()
        await asyncio.wait({serving}, timeout=FORCED_WITHIN_S)
        assert not serving.done()
        waiting.may_end.set()
        answer = await asyncio.wait_for(call, WITHIN_S)
        await asyncio.wait_for(serving, WITHIN_S)
    signalled(signal.SIGHUP)  # The archive may be draining.

    assert answer.json() == {"waited": True}
    assert waiting.told == ["stopping", "answered"]


async def test_one_that_ignores_hang_ups_goes_on_ignoring_them() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    waiting = Waiting()
    async with waiting.served() as (url, serving), httpx.AsyncClient(timeout=60) as client:
        signalled(signal.SIGHUP)
        await asyncio.wait({serving}, timeout=FORCED_WITHIN_S)
        assert waiting.told == []
        alive = await client.get(f"{url}/health/liveness")
        signalled(signal.SIGTERM)
        await asyncio.wait_for(serving, WITHIN_S)

    assert alive.json() == {"status": "alive"}


async def test_a_second_signal_waits_for_nothing() -> None:
    waiting = Waiting()
    async with waiting.served() as (url, serving), httpx.AsyncClient(timeout=60) as client:
        call = asyncio.create_task(client.post(f"{url}/rpc/_wait", json={}))
        await waiting.begun.wait()

        signalled(signal.SIGTERM)
        signalled(signal.SIGTERM)
        await asyncio.wait_for(serving, WITHIN_S)
        told = list(waiting.told)
        waiting.may_end.set()
        await asyncio.wait([call], timeout=WITHIN_S)

    assert told == ["stopping"]


async def test_a_connection_that_was_taken_before_the_stop_is_answered_and_one_that_stays_silent_ends() -> None:
    waiting = Waiting()
    async with waiting.served() as (url, serving), httpx.AsyncClient(timeout=60) as client:
        port = int(url.rpartition(":")[2])
        asking, asker = await asyncio.open_connection("127.0.0.1", port)
        silent, keeper = await asyncio.open_connection("127.0.0.1", port)
        await client.get(f"{url}/health/liveness")  # Whoever came before it has been taken.

        signalled(signal.SIGTERM)
        await waiting.stopping.wait()
        asker.write(b"GET /health/liveness HTTP/1.1\r\nHost: localhost\r\n\r\n")
        answer = await asyncio.wait_for(asking.read(), WITHIN_S)
        silence = await asyncio.wait_for(silent.read(), WITHIN_S)
        await asyncio.wait_for(serving, WITHIN_S)
        for writer in (asker, keeper):
            writer.close()

    assert answer.startswith(b"HTTP/1.1 200 ")
    assert silence == b""


async def test_an_open_event_stream_does_not_hold_up_a_stop() -> None:
    hello = {"protocolVersion": HANDSHAKE, "capabilities": {}, "clientInfo": {"name": "tests", "version": "1"}}
    message = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello}
    async with Waiting().served() as (url, serving), httpx.AsyncClient(headers=JSON_HEADERS, timeout=60) as client:
        opened = await client.post(f"{url}/mcp", json=message)
        session = {"Mcp-Session-Id": opened.headers["mcp-session-id"], "MCP-Protocol-Version": HANDSHAKE}
        async with client.stream("GET", f"{url}/mcp", headers=session) as stream:
            signalled(signal.SIGTERM)
            await asyncio.wait_for(serving, WITHIN_S)

    assert (stream.status_code, stream.headers["content-type"]) == (200, "text/event-stream")


async def test_what_does_not_end_in_time_is_told_that_the_server_stops_and_alarms_nobody(
    caplog: pytest.LogCaptureFixture,
) -> None:
    waiting = Waiting()
    with caplog.at_level(logging.INFO):
        async with waiting.served(grace_s=0.3) as (url, serving), httpx.AsyncClient(timeout=60) as client:
            call = asyncio.create_task(client.post(f"{url}/rpc/_wait", json={}))
            await waiting.begun.wait()

            signalled(signal.SIGTERM)
            answer = await asyncio.wait_for(call, WITHIN_S)
            await asyncio.wait_for(serving, WITHIN_S)

    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    assert answer.json()["detail"].startswith("The server stops")
    assert [one.getMessage() for one in caplog.records if one.levelno > logging.INFO] == []
    assert any("did not end within the time of a stop" in one.getMessage() for one in caplog.records)


def server_of(app: HttpApp, room_size: ConnectionLimits | None = None) -> WebServer:
    limiter = ConnectionLimiter(Clock(), room_size)
    return WebServer(app, grace_s=1, on_started=lambda: None, on_stopping=lambda: None, limiter=limiter)


@pytest.mark.parametrize(
    ("room_size", "streams"),
    [(None, MAX_STREAMS), (ConnectionLimits(connections=40), 10), (ConnectionLimits(connections=100_000), MAX_STREAMS)],
)
def test_event_streams_take_a_quarter_of_the_connections_at_most(
    room_size: ConnectionLimits | None, streams: int
) -> None:
    app = toy_app()

    server_of(app, room_size)

    assert app._endpoint.max_streams == streams


def test_who_waits_gets_three_quarters_of_the_connections() -> None:
    app, bounds = toy_app(), list[int]()
    app.bound_waiters = bounds.append

    server_of(app, ConnectionLimits(connections=1_001))

    assert bounds == [750]


async def test_what_stays_unfinished_is_looked_for_with_every_tick() -> None:
    server, clock = server_of(toy_app()), Clock()
    server._limiter = ConnectionLimiter(clock)
    guest = FakeGuest(server._limiter)
    server._limiter.enter(guest)
    before = guest.ended_by
    clock.now += HEAD_WITHIN_S

    is_over = await server.on_tick(0)

    assert (before, guest.ended_by, is_over) == (None, "evict 408", False)


def test_connections_that_wait_are_taken_several_in_a_round_of_uvloops_too() -> None:
    async def accepted_in_one_round() -> int:
        app, limiter = toy_app(), ConnectionLimiter(Clock())
        async with hosted(app, limiter=limiter) as url:
            address = ("127.0.0.1", int(url.rpartition(":")[2]))
            with ExitStack() as stack:
                for _ in range(2 * ACCEPTED_AT_ONCE):
                    stack.enter_context(socket.create_connection(address))
                async with asyncio.timeout(WITHIN_S):
                    while not (found := limiter.figures().open):  # noqa: ASYNC110  # a round of the loop is what counts
                        await asyncio.sleep(0)
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(address, timeout=WITHIN_S).close()
        return found

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        assert runner.run(accepted_in_one_round()) == ACCEPTED_AT_ONCE


@pytest.mark.parametrize("target", ["/mail", "http://localhost/mail", "http://localhost/mcp?profile=core"])
async def test_too_many_headers_on_a_path_of_mcp_are_an_error_of_json_rpc(target: str) -> None:
    async with Waiting().served() as (url, serving):
        reader, writer = await asyncio.open_connection("127.0.0.1", urlsplit(url).port)
        writer.write(f"POST {target} HTTP/1.1\r\nHost: localhost\r\n".encode() + b"X: a\r\n" * MAX_HEADERS + b"\r\n")
        head, _, body = (await asyncio.wait_for(reader.read(), WITHIN_S)).partition(b"\r\n\r\n")
        writer.close()
        signalled(signal.SIGTERM)
        await asyncio.wait_for(serving, WITHIN_S)

    assert head.startswith(b"HTTP/1.1 431 ")
    assert json.loads(body)["jsonrpc"] == "2.0"

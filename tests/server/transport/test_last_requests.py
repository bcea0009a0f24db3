"""One connection at a stop, without a socket or with one whose bytes nobody has read yet."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import pytest
from uvicorn.config import Config
from uvicorn.server import ServerState

from mcp_agent_mail.server.transport.connection_limits import ConnectionLimiter
from mcp_agent_mail.server.transport.last_requests import ClosingHttp
from tests.server.transport.test_protocol import ENDS_WITHIN_S, REQUEST, FakeTransport, answer

HEAD = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n"


async def answering(scope: Any, receive: Any, send: Any) -> None:  # noqa: ARG001  # ASGI's
    while (await receive())["more_body"]:
        pass
    await answer(send, b"heard")


class Stopped:
    """A connection that has had `earlier` requests when its server begins to stop."""

    def __init__(self, app: Any = answering) -> None:
        self.limiter = ConnectionLimiter(lambda: 1_000.0)
        self.state = ServerState()
        self.http = ClosingHttp(
            Config(app, log_config=None), self.state, {}, limiter=self.limiter, speaks_mcp=lambda *_: False
        )
        self.transport = FakeTransport()

    async def begin(self, earlier: bytes = b"") -> None:
        self.http.connection_made(self.transport)
        if earlier:
            self.http.data_received(earlier)
            await self.settle()

    def stop(self) -> None:
        self.limiter.is_stopping = True
        self.http.shutdown()

    async def settle(self) -> None:
        if tasks := set(self.state.tasks):
            await asyncio.wait(tasks, timeout=ENDS_WITHIN_S)


@pytest.fixture
async def stopped() -> Stopped:  # The connection wants a running loop.
    return Stopped()


@pytest.mark.parametrize("before", [b"", HEAD[:20]])
async def test_a_new_connection_is_heard_once_and_closed(stopped: Stopped, before: bytes) -> None:
    await stopped.begin()
    if before:
        stopped.http.data_received(before)

    stopped.stop()
    after_stop = stopped.transport.ended_by
    stopped.http.data_received((HEAD + b"{}")[len(before) :])
    await stopped.settle()

    assert after_stop is None
    assert stopped.transport.written.endswith(b"heard")
    assert stopped.transport.ended_by == "close"


async def test_a_request_whose_body_is_under_way_is_heard(stopped: Stopped) -> None:
    await stopped.begin()
    stopped.http.data_received(HEAD + b"{")

    stopped.stop()
    stopped.http.data_received(b"}")
    await stopped.settle()

    assert stopped.transport.written.endswith(b"heard")
    assert stopped.transport.ended_by == "close"


async def test_a_connection_that_comes_after_the_stop_began_is_heard_once(stopped: Stopped) -> None:
    stopped.limiter.is_stopping = True
    await stopped.begin(REQUEST)

    assert stopped.transport.written.endswith(b"heard")
    assert stopped.transport.ended_by == "close"


async def test_an_idle_connection_is_closed_at_once(stopped: Stopped) -> None:
    await stopped.begin(REQUEST)

    stopped.stop()

    assert stopped.transport.ended_by == "close"


async def test_an_idle_connection_whose_next_request_has_come_is_heard_once_more(stopped: Stopped) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        stopped.transport.socket = ours
        await stopped.begin(REQUEST)
        theirs.sendall(REQUEST)

        stopped.stop()
        after_stop = stopped.transport.ended_by
        stopped.http.data_received(ours.recv(1000))
        await stopped.settle()

    assert after_stop is None
    assert stopped.transport.written.count(b"heard") == 2
    assert stopped.transport.ended_by == "close"


@pytest.mark.parametrize(("sent", "said"), [(b"", b""), (HEAD[:20], b"503"), (HEAD + b"{", b"503")])
async def test_who_does_not_ask_in_time_holds_up_nothing(stopped: Stopped, sent: bytes, said: bytes) -> None:
    await stopped.begin()
    if sent:
        stopped.http.data_received(sent)
    stopped.stop()

    stopped.http.end_unfinished()
    await stopped.settle()

    assert stopped.transport.ended_by == "close"
    assert stopped.transport.written[9:12] == said


@pytest.mark.parametrize("has_begun", [False, True])
async def test_an_answer_that_the_stop_cuts_short_ends_without_an_alarm(
    has_begun: bool, caplog: pytest.LogCaptureFixture
) -> None:
    async def endless(scope: Any, receive: Any, send: Any) -> None:  # noqa: ARG001  # ASGI's
        if has_begun:
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"begun", "more_body": True})
        await asyncio.Event().wait()

    stopped = Stopped(endless)
    await stopped.begin()
    stopped.http.data_received(REQUEST)
    await asyncio.sleep(0)

    stopped.stop()
    for task in stopped.state.tasks:
        task.cancel()
    await stopped.settle()

    assert (b"503 Service Unavailable" in stopped.transport.written) is not has_begun
    assert (b"begun" in stopped.transport.written) is has_begun
    assert stopped.transport.ended_by == "close"
    assert caplog.records == []

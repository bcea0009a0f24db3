"""An attacker that asks much on a connection and takes no answer: no more is made for it than what is counted."""

from __future__ import annotations

import asyncio
import json
import logging
import socket

import httpx
import pytest

from mcp_agent_mail.core.concurrency.hearing import current_hearing
from mcp_agent_mail.core.tools import Json, ToolSpec, tool
from mcp_agent_mail.server.transport.connection_limits import ConnectionLimits
from tests.server.hosted import hosted, toy_app

MUCH = 12_000_000
"""More than the kernel keeps for a connection."""
HEARD_WITHIN_S = 20


def call(name: str) -> bytes:
    headers = ("Host: localhost", "Content-Type: application/json", "Content-Length: 2")
    return "\r\n".join((f"POST /rpc/{name} HTTP/1.1", *headers, "", "{}")).encode()


async def ask(url: str, *names: str) -> socket.socket:
    """A connection that has sent these calls in one piece and reads nothing."""
    deaf = socket.socket()
    deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    deaf.setblocking(False)
    loop = asyncio.get_running_loop()
    await loop.sock_connect(deaf, ("127.0.0.1", int(url.rpartition(":")[2])))
    await loop.sock_sendall(deaf, b"".join(map(call, names)))
    return deaf


async def read_until(deaf: socket.socket, end: bytes) -> bytes:
    heard = bytearray()
    async with asyncio.timeout(HEARD_WITHIN_S):
        while end not in heard[-1_000:]:
            piece = await asyncio.get_running_loop().sock_recv(deaf, 1 << 20)
            assert piece, heard[-300:]
            heard += piece
    return bytes(heard)


class Toys:
    def __init__(self) -> None:
        self.made = asyncio.Semaphore(0)
        self.marks = 0
        self.left = asyncio.Event()

    def specs(self) -> tuple[ToolSpec, ...]:
        async def much() -> Json:
            """Answer at length."""
            self.made.release()
            return {"much": "x" * MUCH}

        async def mark() -> Json:
            """Count."""
            self.marks += 1
            return {"marks": self.marks}

        async def wait() -> Json:
            """Wait until the caller has left."""
            self.made.release()
            with current_hearing().watched(self.left.set):
                await self.left.wait()
            return {}

        return tuple(tool(each, cluster="toys", title=each.__name__) for each in (much, mark, wait))


async def test_the_next_request_begins_when_the_answer_before_it_was_taken() -> None:
    toys = Toys()
    async with hosted(toy_app(more_tools=toys.specs())) as url, httpx.AsyncClient(timeout=60) as client:
        deaf = await ask(url, "much", "mark", "mark")
        await toys.made.acquire()
        for _ in range(3):
            await client.get(f"{url}/health/liveness")
        marks_before = toys.marks
        heard = await read_until(deaf, b'{"marks":2}')
        deaf.close()

    assert marks_before == 0
    assert heard.count(b"HTTP/1.1 200 ") == 3
    assert json.loads(heard.partition(b"\r\n\r\n")[2].partition(b"HTTP/1.1")[0]) == {"much": "x" * MUCH}


async def test_who_is_cut_off_with_requests_behind_leaves_no_error_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    toys = Toys()
    caplog.set_level(logging.INFO)
    app = toy_app(more_tools=toys.specs())
    async with (
        hosted(app, room_size=ConnectionLimits(untaken_bytes=MUCH // 2)) as url,
        httpx.AsyncClient(timeout=60) as client,
    ):
        deaf = []
        for _ in range(3):
            deaf.append(await ask(url, "much", "much", "mark", "mark"))
            await toys.made.acquire()
            await client.get(f"{url}/health/liveness")
        for one in deaf:
            one.close()

    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR] == []
    assert any("answers that nobody takes" in record.getMessage() for record in caplog.records)


async def test_a_call_hears_that_its_client_left_with_requests_behind(caplog: pytest.LogCaptureFixture) -> None:
    toys = Toys()
    caplog.set_level(logging.ERROR)
    async with hosted(toy_app(more_tools=toys.specs())) as url:
        deaf = await ask(url, "wait", "mark")
        await toys.made.acquire()
        deaf.close()
        async with asyncio.timeout(HEARD_WITHIN_S):
            await toys.left.wait()

    assert toys.marks == 0
    assert caplog.records == []

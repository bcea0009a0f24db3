"""An attacker without a token, who sends what no honest client sends, before anything of it is read.

It holds the server's address and nothing else. Its requests must not stay in memory, and others must be
answered beside them.
"""

from __future__ import annotations

import asyncio
import json
import logging
from contextlib import suppress
from typing import Any

import httpx
import pytest

from mcp_agent_mail.core.tools import Json, tool
from mcp_agent_mail.server.mcp_endpoint import MAX_INITIALIZE_BYTES
from mcp_agent_mail.server.sessions.open_sessions import MAX_KEPT_BYTES
from mcp_agent_mail.server.transport.connection_limits import ConnectionLimits
from mcp_agent_mail.server.transport.http_refusals import MAX_HEADERS, MAX_HEADERS_BYTES, MAX_TARGET_BYTES
from mcp_agent_mail.server.transport.protocol import MAX_PIPELINED
from tests.server.hosted import hosted, toy_app, toy_edge
from tests.server.test_mcp import HANDSHAKE, JSON_HEADERS

HEAD = b"GET /health/liveness HTTP/1.1\r\nHost: localhost\r\n"
POST = b"POST /rpc/echo HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
HELLO = {"protocolVersion": HANDSHAKE, "capabilities": {}, "clientInfo": {"name": "tests", "version": "1"}}
ALIVE = b'{"status":"alive"}'
CHUNK = 65_536
SENT_AT_MOST = 64 * 1024 * 1024
ANSWERED_WITHIN_S = 20


def _port(url: str) -> int:
    return int(url.rpartition(":")[2])


async def say(url: str, *pieces: bytes, and_on: bytes = b"", hang_up: bool = False) -> tuple[bytes, int]:
    """What the server says until it closes, and how many bytes it took; `and_on` is sent without an end."""
    reader, writer = await asyncio.open_connection("127.0.0.1", _port(url))
    sent = 0

    async def send() -> None:
        nonlocal sent
        with suppress(ConnectionError):
            for piece in pieces:
                writer.write(piece)
                await writer.drain()
                sent += len(piece)
            while and_on and sent < SENT_AT_MOST:
                writer.write(and_on)
                await writer.drain()
                sent += len(and_on)
        if hang_up:
            writer.write_eof()

    sending = asyncio.create_task(send())
    heard = bytearray()
    try:
        async with asyncio.timeout(ANSWERED_WITHIN_S):
            with suppress(ConnectionError):
                while piece := await reader.read(CHUNK):
                    heard += piece
    finally:
        sending.cancel()
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()
    return bytes(heard), sent


def status_of(heard: bytes) -> int:
    return int(heard.split(b" ", 2)[1]) if heard else 0


@pytest.mark.parametrize(
    ("begun", "and_on", "status"),
    [
        (HEAD + b"X-Long: ", b"a" * CHUNK, 431),
        (HEAD + b"X-", b"a" * CHUNK, 431),
        (HEAD, b"X-One: more\r\n" * 1_000, 431),
        (b"GET /" + b"health/liveness", b"a" * CHUNK, 414),
        (b"GET /health/liveness?", b"a" * CHUNK, 414),
        (b"", b"\r\n" * CHUNK, 431),
        (POST + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nX-Trailer: ", b"a" * CHUNK, 431),
        (POST + b"Transfer-Encoding: chunked\r\n\r\n2;extension=", b"a" * CHUNK, 431),
    ],
    ids=["value", "name", "count", "target", "query", "blank lines", "trailer", "chunk extension"],
)
async def test_what_never_ends_is_refused_while_it_comes(begun: bytes, and_on: bytes, status: int) -> None:
    async with hosted(toy_app()) as url:
        heard, sent = await say(url, begun, and_on=and_on)

    assert status_of(heard) == status
    assert b"connection: close" in heard
    assert sent < SENT_AT_MOST


async def test_a_stop_ends_a_connection_that_was_refused_and_whose_client_has_not_left() -> None:
    async with hosted(toy_app()) as url:
        reader, writer = await asyncio.open_connection("127.0.0.1", _port(url))
        writer.write(HEAD + b"X-Long: " + b"a" * (1 << 20))
        async with asyncio.timeout(ANSWERED_WITHIN_S):
            refused = await reader.read()

    writer.close()
    assert status_of(refused) == 431


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (HEAD + b"X: " + b"a" * (MAX_HEADERS_BYTES - 50) + b"\r\n\r\n", 200),
        (HEAD + b"X: " + b"a" * MAX_HEADERS_BYTES + b"\r\n\r\n", 431),
        (HEAD + b"X: a\r\n" * (MAX_HEADERS - 2) + b"\r\n", 200),
        (HEAD + b"X: a\r\n" * MAX_HEADERS + b"\r\n", 431),
        (HEAD.replace(b"liveness", b"liveness?" + b"a" * (MAX_TARGET_BYTES - 17)) + b"\r\n", 200),
        (HEAD.replace(b"liveness", b"liveness?" + b"a" * MAX_TARGET_BYTES) + b"\r\n", 414),
    ],
    ids=["32 KiB", "over 32 KiB", "100 headers", "101 headers", "8 KiB", "over 8 KiB"],
)
async def test_the_bounds_are_where_the_reference_says(head: bytes, status: int) -> None:
    async with hosted(toy_app()) as url:
        heard, _ = await say(
            url, head.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n") if status == 200 else head
        )

    assert status_of(heard) == status


async def test_a_trailer_is_no_header() -> None:
    chunked = (
        b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n2\r\n{}\r\n0\r\nX-Agent-Token: amt_stolen\r\n\r\n"
    )
    async with hosted(toy_app()) as url:
        heard, _ = await say(url, POST.replace(b"echo", b"who") + chunked)

    assert json.loads(heard.partition(b"\r\n\r\n")[2])["agent"] is None


async def test_a_body_that_nobody_reads_is_not_read_on_for_ever() -> None:
    body = b"Content-Length: 4000000000\r\n\r\n"
    async with hosted(toy_app()) as url:
        at_health, sent = await say(url, HEAD + body, and_on=b"a" * CHUNK)
        too_large, sent_too = await say(url, POST + body, and_on=b"a" * CHUNK)

    assert (status_of(at_health), status_of(too_large)) == (200, 413)
    assert max(sent, sent_too) < SENT_AT_MOST


@pytest.mark.parametrize(
    "nonsense",
    [
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        HEAD + b"Content-Length: 99999999999999999999999999\r\n\r\n",
        HEAD + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n",
        HEAD + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"CONNECT evil.example:443 HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET \xff HTTP/1.1\r\n\r\n",
    ],
)
async def test_what_is_no_request_is_400_and_one_line_for_all(
    nonsense: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    async with hosted(toy_app()) as url:
        heard = [(await say(url, nonsense, hang_up=True))[0] for _ in range(5)]

    assert [status_of(one) for one in heard] == [400] * 5
    assert len([record for record in caplog.records if record.levelno >= logging.WARNING]) == 1


@pytest.mark.parametrize("protocol", [b"websocket", b"h2c", b"tls/1.0"])
async def test_an_upgrade_is_not_taken_and_the_connection_ends_with_the_answer(
    protocol: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    upgrade = HEAD + b"Connection: Upgrade\r\nUpgrade: " + protocol + b"\r\n\r\n"
    async with hosted(toy_app()) as url:
        heard, sent = await say(url, upgrade, and_on=b"a" * CHUNK)

    assert status_of(heard) == 200
    assert heard.endswith(ALIVE)
    assert sent < SENT_AT_MOST
    assert caplog.records == []


async def test_requests_in_one_packet_are_answered_in_order_up_to_a_bound() -> None:
    async with hosted(toy_app()) as url:
        heard, _ = await say(url, (HEAD + b"\r\n") * 5_000)

    assert heard.count(ALIVE) == MAX_PIPELINED + 1
    assert heard.endswith(ALIVE)


def bounds_told(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage().partition("the bound on ")[2] for record in caplog.records]


async def test_too_much_of_bodies_is_told_as_that_and_nothing_else(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    async with hosted(toy_app(), room_size=ConnectionLimits(bodies_bytes=10)) as url:
        heard, _ = await say(url, POST + b"Content-Length: 20\r\n\r\n" + b"a" * 20)

    assert status_of(heard) == 503
    assert bounds_told(caplog) == ["bytes of request bodies is reached"]


async def test_too_many_requests_at_once_on_a_connection_are_told_as_that(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    async with hosted(toy_app()) as url:
        await say(url, (HEAD + b"\r\n") * (MAX_PIPELINED + 2))

    assert bounds_told(caplog) == ["requests that wait on one connection is reached"]


async def test_a_head_that_is_too_large_is_told_as_that(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    async with hosted(toy_app()) as url:
        await say(url, HEAD + b"X: a\r\n" * MAX_HEADERS + b"\r\n")

    assert bounds_told(caplog) == ["size of a request's target and headers is reached"]


async def test_the_beginning_of_a_next_request_ends_no_answer() -> None:
    async with hosted(toy_app()) as url:
        heard, _ = await say(url, HEAD + b"\r\n" + HEAD, b"Connection: close\r\n\r\n")

    assert heard.count(ALIVE) == 2


async def test_liveness_answers_beside_more_unfinished_requests_than_there_is_room_for(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING)
    size = ConnectionLimits(connections=60, unfinished=40)
    unfinished = (b"", HEAD, HEAD + b"Content-Length: 9\r\n\r\n", POST + b"Content-Length: 9\r\n\r\n{")
    writers = []
    async with hosted(toy_app(), room_size=size) as url, httpx.AsyncClient(timeout=60) as client:
        for number in range(120):
            _, writer = await asyncio.open_connection("127.0.0.1", _port(url))
            writer.write(unfinished[number % len(unfinished)])
            writers.append(writer)
        answers = [(await client.get(f"{url}/health/liveness")).status_code for _ in range(3)]
        called = await client.post(f"{url}/rpc/count", json={})
        for writer in writers:
            writer.close()

    assert answers == [200] * 3
    assert called.status_code == 200
    assert len(caplog.records) <= 2


async def test_while_every_connection_waits_health_is_answered_and_others_are_told_to_come_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING)
    may_end, begun = asyncio.Event(), asyncio.Semaphore(0)

    async def wait() -> Json:
        """Wait."""
        begun.release()
        await may_end.wait()
        return {}

    app = toy_app(more_tools=(tool(wait, cluster="toys", title="Wait"),))
    async with hosted(app, room_size=ConnectionLimits(connections=4)) as url:
        call = POST.replace(b"echo", b"wait") + b"Connection: close\r\nContent-Length: 2\r\n\r\n{}"
        waiting = [asyncio.create_task(say(url, call)) for _ in range(4)]
        for _ in waiting:
            await begun.acquire()
        alive, _ = await say(url, HEAD + b"\r\n")
        other, _ = await say(url, HEAD.replace(b"health/liveness", b"nowhere") + b"\r\n")
        may_end.set()
        ended = [status_of((await one)[0]) for one in waiting]

    assert (status_of(alive), status_of(other)) == (200, 503)
    assert b"retry-after: 1" in other
    assert ended == [200] * 4
    assert set(bounds_told(caplog)) == {"connections is reached"}


def _initialize(capabilities: object) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {**HELLO, "capabilities": capabilities}}


async def test_an_initialize_of_3_mb_is_refused_and_keeps_nothing() -> None:
    large = json.dumps(_initialize({"experimental": {"a": {"b": "c" * 3_000_000}}}))
    app = toy_app()
    async with hosted(app) as url, httpx.AsyncClient(headers=JSON_HEADERS, timeout=60) as client:
        refused = await client.post(f"{url}/mcp", content=large)
        opened = await client.post(f"{url}/mcp", json=_initialize({}))
        session = {"Mcp-Session-Id": opened.headers["mcp-session-id"], "MCP-Protocol-Version": HANDSHAKE}
        again = await client.post(f"{url}/mcp", content=large, headers=session)
        small = await client.post(f"{url}/mcp", json=_initialize({}), headers=session)
        call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "count", "arguments": {}}}
        served = await client.post(f"{url}/mcp", json=call, headers=session)

    assert (refused.status_code, refused.json()["error"]["message"]) == (413, refused.json()["detail"])
    assert (again.status_code, small.json()["error"]["message"]) == (413, "This session is initialized already.")
    assert served.json()["result"]["isError"] is False


async def test_sessions_have_a_bound_in_bytes_and_beyond_it_clients_are_served_without_one() -> None:
    filler = {"experimental": {"a": {"b": "c" * (MAX_INITIALIZE_BYTES - 500)}}}
    opened = 0
    async with hosted(toy_app()) as url, httpx.AsyncClient(headers=JSON_HEADERS, timeout=60) as client:
        for _ in range(MAX_KEPT_BYTES // MAX_INITIALIZE_BYTES + 5):
            answer = await client.post(f"{url}/mcp", json=_initialize(filler))
            opened += "mcp-session-id" in answer.headers
            assert answer.json()["result"]["serverInfo"]["name"]

    assert opened <= MAX_KEPT_BYTES // (MAX_INITIALIZE_BYTES - 500)


async def test_a_small_body_that_comes_after_its_answer_costs_no_connection() -> None:
    body = POST.replace(b"/rpc/echo", b"/nowhere") + b"Content-Length: 2\r\n\r\n"
    async with hosted(toy_app()) as url:
        reader, writer = await asyncio.open_connection("127.0.0.1", _port(url))
        answers = []
        for _ in range(3):
            writer.write(body)
            answers.append(await reader.readuntil(b"\r\n\r\n"))
            await reader.readuntil(b"}")
            writer.write(b"{}")
        writer.close()

    assert [status_of(answer) for answer in answers] == [404] * 3


async def test_without_its_token_a_server_reads_no_body_to_its_end() -> None:
    async with hosted(toy_app(toy_edge(server_token="s3cret"))) as url:
        heard, sent = await say(url, POST + b"Content-Length: 4000000000\r\n\r\n", and_on=b"a" * CHUNK)

    assert (status_of(heard), sent < SENT_AT_MOST) == (401, True)


async def test_the_body_of_a_call_counts_until_the_call_has_ended_whatever_comes_behind_it() -> None:
    may_end, begun = asyncio.Event(), asyncio.Semaphore(0)

    async def wait() -> Json:
        """Wait."""
        begun.release()
        await may_end.wait()
        return {}

    app = toy_app(more_tools=(tool(wait, cluster="toys", title="Wait"),))
    padded = b"{}" + b" " * 60_000
    call = POST.replace(b"echo", b"wait") + b"Content-Length: %d\r\n\r\n" % len(padded) + padded
    async with (
        hosted(app, room_size=ConnectionLimits(bodies_bytes=150_000)) as url,
        httpx.AsyncClient(timeout=60) as client,
    ):
        writers = []
        for behind in (b"GARBAGE\r\n\r\n", b""):
            _, writer = await asyncio.open_connection("127.0.0.1", _port(url))
            writers.append(writer)
            writer.write(call)
            await begun.acquire()
            writer.write(behind)
            await writer.drain()
        writers[-1].close()
        for _ in range(3):
            await client.get(f"{url}/health/liveness")
        large: dict[str, Any] = {"content": padded, "headers": {"Content-Type": "application/json"}}
        while_they_wait = await client.post(f"{url}/rpc/count", **large)
        may_end.set()
        async with asyncio.timeout(ANSWERED_WITHIN_S):
            while (await client.post(f"{url}/rpc/count", **large)).status_code != 200:
                pass

        writers[0].close()

    assert while_they_wait.status_code == 503


@pytest.mark.parametrize(
    ("coding", "status"),
    [("gzip, chunked", 501), ("gzip\r\nTransfer-Encoding: chunked", 501), ("chunked, chunked", 400)],
)
async def test_a_transfer_coding_that_nobody_undoes_is_refused(coding: str, status: int) -> None:
    chunked = f"Transfer-Encoding: {coding}\r\n\r\n2\r\n{{}}\r\n0\r\n\r\n".encode()
    async with hosted(toy_app()) as url:
        heard, _ = await say(url, POST.replace(b"echo", b"count") + chunked)

    assert status_of(heard) == status
    assert b"HTTP/1.1 200" not in heard

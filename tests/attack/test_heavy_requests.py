"""Requests of 4 MiB that are cheap to send and dear to read, and answers that are asked for and never taken."""

from __future__ import annotations

import asyncio
import json
from typing import Annotated

import httpx
import pytest

from mcp_agent_mail.core.params import Count
from mcp_agent_mail.core.tools import Json, tool
from mcp_agent_mail.server.transport.connection_limits import ConnectionLimits
from mcp_agent_mail.server.transport.limits import MAX_BODY_BYTES, MAX_VALUES
from mcp_agent_mail.server.transport.posted_message import MAX_BESIDE_BYTES
from tests.server.hosted import hosted, toy_app
from tests.server.test_mcp import HANDSHAKE, JSON_HEADERS, modern_call

JSON = {"Content-Type": "application/json"}
CALL = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"a"},"_meta":%s}}'
ANSWERED_WITHIN_S = 20


def _array(element: bytes, size: int = MAX_BODY_BYTES - 1_000) -> bytes:
    return b"[" + b",".join([element] * (size // (len(element) + 1))) + b"]"


def _object(size: int = MAX_BODY_BYTES - 1_000) -> bytes:
    return b"{" + b",".join(b'"%x":0' % number for number in range(size // 10)) + b"}"


DEEP = b"[" * 200_000 + b"]" * 200_000
HEAVY = [DEEP, _array(b"0"), _array(b"{}"), _array(b"[[[]]]"), _array(b'{"":{}}'), _array(b'"\\""'), _object()]


@pytest.mark.parametrize("body", HEAVY, ids=["levels", "numbers", "objects", "arrays", "nested", "texts", "keys"])
@pytest.mark.parametrize("path", ["/mcp", "/rpc/echo"])
async def test_a_body_of_a_million_values_is_refused_before_it_is_parsed(path: str, body: bytes) -> None:
    async with hosted(toy_app()) as url, httpx.AsyncClient(headers=JSON, timeout=60) as client:
        alone = await client.post(f"{url}{path}", content=body)
        within = await client.post(f"{url}{path}", content=CALL % body)

    assert [alone.status_code, within.status_code] == [413, 413]
    assert f"{MAX_VALUES:,} JSON values" in alone.json()["detail"]


@pytest.mark.parametrize("version", [HANDSHAKE, "2026-07-28", "2025-03-26"])
@pytest.mark.parametrize(
    "body", [b"[]", b' \n[{"jsonrpc":"2.0","id":1,"method":"ping"}]', b"0", b"{\0}\0", b"\xff\xfe{\0"]
)
async def test_what_is_no_object_is_refused_in_every_version(version: str, body: bytes) -> None:
    async with hosted(toy_app()) as url, httpx.AsyncClient(headers=JSON_HEADERS, timeout=60) as client:
        answer = await client.post(f"{url}/mcp", content=body, headers={"MCP-Protocol-Version": version})

    assert (answer.status_code, answer.json()["error"]["code"]) == (400, -32600)
    assert "batches are not served" in answer.json()["error"]["message"]


async def test_what_stays_beside_the_arguments_of_a_call_that_waits_is_small() -> None:
    async with hosted(toy_app()) as url, httpx.AsyncClient(headers=JSON_HEADERS, timeout=60) as client:
        meta = await client.post(f"{url}/mcp", content=CALL % json.dumps({"x": "y" * MAX_BESIDE_BYTES}).encode())
        few = await client.post(f"{url}/mcp", content=CALL % json.dumps({"x": "y" * 1_000}).encode())

    assert (meta.status_code, "64 KiB beside its arguments" in meta.json()["detail"]) == (413, True)
    assert few.json()["result"]["isError"] is False


@pytest.mark.parametrize(
    "text", ['{"a": [1, 2], "b\\\\": "c"},\n' * 50_000, "\\" * 100_000 + '"' * 100_000, ",[{" * 400_000]
)
async def test_a_text_may_hold_as_many_brackets_and_quotes_as_it_likes(text: str) -> None:
    body, headers = modern_call("tools/call", {"name": "echo", "arguments": {"text": text}})
    async with hosted(toy_app()) as url, httpx.AsyncClient(headers=JSON_HEADERS, timeout=60) as client:
        plain = await client.post(f"{url}/rpc/echo", json={"text": text})
        wrapped = await client.post(f"{url}/mcp", json=body, headers=headers)

    assert plain.json()["text"] == text
    assert wrapped.json()["result"]["structuredContent"]["text"] == text


async def test_a_refusal_says_that_nothing_was_done_and_what_to_do() -> None:
    head = b"POST /rpc/echo HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    async with hosted(toy_app(), room_size=ConnectionLimits(bodies_bytes=1_000)) as url:
        port = int(url.rpartition(":")[2])
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(head + b"Content-Length: 3000\r\n\r\n" + b"a" * 1_500)
        heard = await asyncio.wait_for(reader.read(), ANSWERED_WITHIN_S)
        writer.close()
    async with hosted(toy_app()) as url, httpx.AsyncClient(headers=JSON, timeout=60) as client:
        large = await client.post(f"{url}/rpc/echo", content=b" " * (MAX_BODY_BYTES + 1))

    assert b"503" in heard.partition(b"\r\n")[0]
    assert b"retry-after: 1" in heard
    assert b"Nothing was done; send it again." in heard
    assert large.status_code == 413
    assert "body_md may have 1 MiB" in large.json()["detail"]


async def test_answers_that_nobody_takes_have_a_bound_together(caplog: pytest.LogCaptureFixture) -> None:
    answered = asyncio.Semaphore(0)

    async def large(size: Annotated[int, Count(1, 10_000_000)]) -> Json:
        """Much."""
        answered.release()
        return {"text": "x" * size}

    each, bound = 10_000_000, 25_000_000
    app = toy_app(more_tools=(tool(large, cluster="toys", title="Large"),))
    async with (
        hosted(app, room_size=ConnectionLimits(untaken_bytes=bound)) as url,
        httpx.AsyncClient(headers=JSON, timeout=60) as client,
    ):
        body = b'{"size": %d}' % each
        request = b"POST /rpc/large HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        request += b"Content-Length: %d\r\n\r\n" % len(body) + body
        deaf = []
        for _ in range(6):
            # No bytes are read until `read` is called, but for a little that the stream's own buffer takes.
            reader, writer = await asyncio.open_connection("127.0.0.1", int(url.rpartition(":")[2]), limit=1_024)
            writer.write(request)
            await asyncio.wait_for(answered.acquire(), ANSWERED_WITHIN_S)
            deaf.append((reader, writer))
        other = await client.post(f"{url}/rpc/echo", json={"text": "a"})
        taken = []
        for reader, writer in deaf:
            size = 0
            try:
                while piece := await asyncio.wait_for(reader.read(1 << 20), ANSWERED_WITHIN_S):
                    size += len(piece)
                    if size > each:
                        break
            except ConnectionError:
                pass
            taken.append(size > each)
            writer.close()

    assert other.status_code == 200
    assert taken[0] is False
    assert taken[-1] is True
    assert any("answers that nobody takes" in record.getMessage() for record in caplog.records)

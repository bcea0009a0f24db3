"""An attacker who opens, names and ends sessions as nobody does: others keep theirs, and memory its bounds."""

from __future__ import annotations

import asyncio
import json
from contextlib import AsyncExitStack

import httpx

from mcp_agent_mail.server.mcp_endpoint import MAX_INITIALIZE_BYTES, MAX_SESSIONS
from mcp_agent_mail.server.sessions.open_sessions import MAX_KEPT_BYTES
from mcp_agent_mail.server.transport.connection_limits import ConnectionLimits
from tests.server.hosted import hosted, toy_app
from tests.server.test_mcp import HANDSHAKE, JSON_HEADERS, MODERN

CALL = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "count", "arguments": {}}}


def initialize(filler: int = 0) -> bytes:
    capabilities = {"experimental": {"a": {"b": "c" * filler}}} if filler else {}
    params = {
        "protocolVersion": HANDSHAKE,
        "capabilities": capabilities,
        "clientInfo": {"name": "tests", "version": "1"},
    }
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}).encode()


async def test_two_protocol_versions_in_one_request_open_no_session() -> None:
    both = [*JSON_HEADERS.items(), ("MCP-Protocol-Version", HANDSHAKE), ("MCP-Protocol-Version", MODERN)]
    async with hosted(toy_app()) as url, httpx.AsyncClient(timeout=60) as client:
        answers = [
            await client.post(f"{url}/mcp", content=initialize(MAX_INITIALIZE_BYTES), headers=order)
            for order in (both, both[::-1])
        ]

    assert [answer.status_code for answer in answers] == [400] * 2
    assert not any("mcp-session-id" in answer.headers for answer in answers)


async def test_many_that_initialize_in_the_same_moment_are_within_the_bound_in_bytes() -> None:
    body = initialize(MAX_INITIALIZE_BYTES - 500)
    head = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
    head += "".join(f"{name}: {value}\r\n" for name, value in JSON_HEADERS.items())
    asked = f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body
    async with hosted(toy_app()) as url:
        streams = [
            await asyncio.open_connection("127.0.0.1", int(url.rpartition(":")[2]))
            for _ in range(2 * MAX_KEPT_BYTES // MAX_INITIALIZE_BYTES)
        ]
        for _, writer in streams:
            writer.write(asked[:-1])
            await writer.drain()
        for _, writer in streams:
            writer.write(asked[-1:])
        answers = [await reader.read() for reader, _ in streams]
        for _, writer in streams:
            writer.close()

    opened = sum(b"mcp-session-id" in answer for answer in answers)
    assert all(answer.startswith(b"HTTP/1.1 200 ") for answer in answers)
    assert 0 < opened <= MAX_KEPT_BYTES // len(body)


async def test_sessions_that_never_were_push_no_ended_one_out() -> None:
    async with hosted(toy_app()) as url, httpx.AsyncClient(headers=JSON_HEADERS, timeout=60) as client:
        opened = await client.post(f"{url}/mcp", content=initialize())
        session = {"Mcp-Session-Id": opened.headers["mcp-session-id"], "MCP-Protocol-Version": HANDSHAKE}
        other_era = await client.delete(f"{url}/mcp", headers={**session, "MCP-Protocol-Version": MODERN})
        still_there = await client.post(f"{url}/mcp", json=CALL, headers=session)
        await client.delete(f"{url}/mcp", headers=session)
        for number in range(MAX_SESSIONS):
            unknown = {"Mcp-Session-Id": f"{number}", "MCP-Protocol-Version": MODERN}
            await client.delete(f"{url}/mcp", headers=unknown)
        ended = await client.post(f"{url}/mcp", json=CALL, headers=session)
        never_was = await client.post(f"{url}/mcp", json=CALL, headers={"Mcp-Session-Id": "1"})

    assert (other_era.status_code, still_there.status_code) == (405, 200)
    assert (ended.status_code, never_was.status_code) == (404, 200)


async def test_event_streams_that_are_held_leave_room_for_calls() -> None:
    app = toy_app()
    async with hosted(app, room_size=ConnectionLimits(connections=8)) as url, AsyncExitStack() as held:
        async with httpx.AsyncClient(headers=JSON_HEADERS, timeout=60) as client:
            sessions = [
                (await client.post(f"{url}/mcp", content=initialize())).headers["mcp-session-id"] for _ in range(9)
            ]
        streaming = await held.enter_async_context(httpx.AsyncClient(headers=JSON_HEADERS, timeout=None))
        statuses = []
        for session in sessions[:8]:
            named = {"Mcp-Session-Id": session, "MCP-Protocol-Version": HANDSHAKE}
            stream = await held.enter_async_context(streaming.stream("GET", f"{url}/mcp", headers=named))
            statuses.append(stream.status_code)
        async with httpx.AsyncClient(headers=JSON_HEADERS, timeout=60) as other:
            called = await other.post(f"{url}/mcp", json=CALL, headers={"Mcp-Session-Id": sessions[8]})

    assert statuses == [200, 200, *[405] * 6]
    assert called.json()["result"]["isError"] is False

"""A caller that is let in, and asks for as much as it can: others get their turn, and nothing looks at all of it."""

from __future__ import annotations

import asyncio
import json

import httpx
import pytest

from mcp_agent_mail.core.resources import ResourceTable
from mcp_agent_mail.core.tools import Json, ToolTable, tool
from mcp_agent_mail.domain.search.query import read_query
from mcp_agent_mail.server.dispatch import Calls
from mcp_agent_mail.server.mcp import create_mcp
from mcp_agent_mail.server.mcp_endpoint import MAX_INITIALIZE_BYTES, McpEndpoint
from mcp_agent_mail.server.transport.http import HttpApp, HttpOptions
from tests.server.hosted import VERSION, always_ready, hosted, toy_app, toy_edge, toy_tools
from tests.server.test_mcp import JSON_HEADERS, handshake_call, post

LONG = "x" * 3_900_000
ENOUGH_OF_AN_ANSWER = 64 * 1024


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/rpc/count", {LONG: 1}),
        ("/rpc/count", dict.fromkeys((f"{number:x}" for number in range(400_000)), 0)),
        ("/rpc/count", {"limit": LONG}),
        ("/rpc/count", {"limit": " " * len(LONG)}),
        ("/rpc/count", {"format": LONG}),
        ("/rpc/echo", {"text": "a", "times": LONG}),
        ("/rpc/read_resource", {"uri": LONG}),
        ("/rpc/read_resource", {"uri": "resource://" + "/" * len(LONG)}),
        ("/rpc/read_resource", {"uri": "resource://toys?" + "a=b&" * 900_000}),
    ],
    ids=["argument", "arguments", "number", "blanks", "format", "times", "uri", "slashes", "query"],
)
async def test_four_megabytes_of_a_name_are_neither_compared_nor_sent_back(path: str, body: Json) -> None:
    async with hosted(toy_app()) as url, httpx.AsyncClient(timeout=60) as client:
        answer = await client.post(f"{url}{path}", json=body)

    assert answer.status_code in (200, 400, 404, 413)
    assert len(answer.content) < ENOUGH_OF_AN_ANSWER


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("tools/call", {"name": LONG, "arguments": {}}),
        ("tools/call", {"name": "count", "arguments": {LONG: 1}}),
        ("resources/read", {"uri": f"resource://{LONG}"}),
    ],
    ids=["tool", "argument", "uri"],
)
async def test_nor_over_mcp(method: str, params: Json) -> None:
    async with hosted(toy_app()) as url:
        answer = await post(f"{url}/mcp", handshake_call, method, params)

    assert len(answer.content) < ENOUGH_OF_AN_ANSWER


async def test_long_calls_of_one_caller_leave_places_for_another() -> None:
    may_end, begun, running = asyncio.Event(), asyncio.Semaphore(0), 0

    async def install() -> Json:
        """Wait, as for a disk that does not answer."""
        nonlocal running
        running += 1
        begun.release()
        await may_end.wait()
        return {}

    app = toy_app(more_tools=(tool(install, cluster="toys", title="Install", is_long=True),))
    async with (
        hosted(app) as url,
        httpx.AsyncClient(timeout=None) as one,  # it waits for as long as it is let
        httpx.AsyncClient(timeout=None, headers={"X-Agent-Token": "amt_many"}) as many,
    ):
        asked = [asyncio.create_task(many.post(f"{url}/rpc/install", json={})) for _ in range(25)]
        # Whichever of them comes when: only what finds the line full is answered before the others may end.
        refused = [await done for _, done in zip(range(7), asyncio.as_completed(asked), strict=False)]
        for _ in range(2):
            await begun.acquire()
        running_of_many = running
        other = asyncio.create_task(one.post(f"{url}/rpc/install", json={}))
        await begun.acquire()
        may_end.set()
        answers = await asyncio.gather(*asked)
        told = refused[0].json()["error"]

    assert running_of_many == 2
    assert [answer.status_code for answer in refused] == [503] * 7
    assert (await other).status_code == 200
    assert sorted(answer.status_code for answer in answers) == [200] * 18 + [503] * 7
    assert (told["type"], told["data"]) == ("UNAVAILABLE", {"retry_after_s": 1})


def test_near_of_many_words_is_searched_as_words() -> None:
    few, many = read_query("NEAR(one two three)"), read_query(f"NEAR({'a ' * 480}, 1000)")

    assert few is not None
    assert many is not None
    assert (": NEAR(" in few.expression, ": NEAR(" in many.expression) == (True, False)


async def test_an_initialize_that_hides_its_name_is_bounded_as_any_other() -> None:
    calls = Calls(ToolTable(toy_tools()), ResourceTable([]))
    endpoint = McpEndpoint(create_mcp(calls, version=VERSION), max_sessions=1)
    app = HttpApp(endpoint, calls, toy_edge(), HttpOptions(), is_ready=always_ready)

    def hidden(title: str) -> str:
        info = {"name": "tests", "version": "1", "title": title}
        params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info}
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
        return body.replace('"initialize"', '"\\u0069nitialize"')

    async with hosted(app) as url, httpx.AsyncClient(headers=JSON_HEADERS, timeout=60) as client:
        large = await client.post(f"{url}/mcp", content=hidden("x" * MAX_INITIALIZE_BYTES))
        answers = [await client.post(f"{url}/mcp", content=hidden("x")) for _ in range(2)]

    assert large.status_code == 413
    assert [(one.status_code, "mcp-session-id" in one.headers) for one in answers] == [(200, True), (200, False)]

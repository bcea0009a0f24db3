"""Both protocol eras over real HTTP, with the official clients and without."""

from __future__ import annotations

import asyncio
import json
from contextlib import AsyncExitStack
from typing import Any

import fastmcp
import httpx
import pytest
from fastmcp.exceptions import ToolError
from mcp.client.session import ClientSession
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from mcp_agent_mail.core.resources import ResourceTable
from mcp_agent_mail.core.tools import Json, ToolTable, tool
from mcp_agent_mail.server.dispatch import Calls
from mcp_agent_mail.server.mcp import create_mcp
from mcp_agent_mail.server.mcp_endpoint import McpEndpoint
from mcp_agent_mail.server.rendering.mcp_words import SERVER_NAME
from mcp_agent_mail.server.transport.http import HttpApp, HttpOptions
from tests.server.hosted import VERSION, always_ready, hosted, toy_app, toy_edge, toy_tools

MODERN = "2026-07-28"
HANDSHAKE = "2025-11-25"
PATHS = ["/mcp", "/mcp/", "/api", "/api/", "/mail", "/mail/"]
JSON_HEADERS = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


def handshake_call(method: str, params: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}, {"MCP-Protocol-Version": HANDSHAKE}


def modern_call(method: str, params: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    meta = {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientInfo": {"name": "tests", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    headers = {"MCP-Protocol-Version": MODERN, "Mcp-Method": method}
    if name := params.get("name") or params.get("uri"):
        headers["Mcp-Name"] = name
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": meta}}, headers


ERAS = pytest.mark.parametrize("era", [handshake_call, modern_call], ids=["handshake", "modern"])


async def post(url: str, era: Any, method: str, params: dict[str, Any], **headers: str) -> httpx.Response:
    body, own = era(method, params)
    async with httpx.AsyncClient(timeout=60) as client:
        return await client.post(url, json=body, headers={**JSON_HEADERS, **own, **headers})


async def call_tool(url: str, era: Any, name: str, arguments: dict[str, Any]) -> Any:
    response = await post(f"{url}/mcp", era, "tools/call", {"name": name, "arguments": arguments})
    return response.json()["result"]


async def test_the_mcp_client_lists_calls_and_reads() -> None:
    async with (
        hosted(toy_app()) as url,
        streamable_http_client(f"{url}/mcp") as streams,
        ClientSession(streams[0], streams[1]) as session,
    ):
        hello = await session.initialize()
        tools = await session.list_tools()
        result = await session.call_tool("echo", {"text": "hi", "times": "2"})
        read = await session.read_resource("resource://toy/ball?limit=5")

    assert (hello.server_info.name, hello.server_info.version) == (SERVER_NAME, VERSION)
    assert [tool.name for tool in tools.tools] == ["echo", "count", "clash", "crash", "who"]
    assert result.structured_content == {"text": "hihi", "nothing": None, "nested": [{"nothing": None}]}
    assert json.loads(read.contents[0].text) == {"name": "ball", "limit": 5, "nothing": None}  # type: ignore[union-attr]


async def test_fastmcps_client_speaks_the_modern_era() -> None:
    async with hosted(toy_app()) as url, fastmcp.Client(f"{url}/mcp") as client:
        result = await client.call_tool("count", {"limit": 2})
        resources = await client.list_resources()
        templates = await client.list_resource_templates()
        with pytest.raises(ToolError, match=r"Error calling tool 'clash': It is taken\. Take another\."):
            await client.call_tool("clash", {})

    assert result.structured_content == {"result": [{"number": 0}, {"number": 1}]}
    assert [str(found.uri) for found in resources] == ["resource://toys", "resource://broken"]
    assert [found.uri_template for found in templates] == ["resource://toy/{name}{?limit}"]


@ERAS
async def test_an_object_is_the_same_in_text_and_structure(era: Any) -> None:
    async with hosted(toy_app()) as url:
        result = await call_tool(url, era, "echo", {"text": "é"})

    assert result["isError"] is False
    (block,) = result["content"]
    assert block == {"type": "text", "text": '{"text":"é","nothing":null,"nested":[{"nothing":null}]}'}
    assert result["structuredContent"] == json.loads(block["text"])


@ERAS
async def test_a_list_is_bare_in_text_and_under_result_in_structure(era: Any) -> None:
    async with hosted(toy_app()) as url:
        result = await call_tool(url, era, "count", {"limit": 2})

    assert result["content"] == [{"type": "text", "text": '[{"number":0},{"number":1}]'}]
    assert result["structuredContent"] == {"result": [{"number": 0}, {"number": 1}]}


@ERAS
async def test_a_refusal_is_an_error_result_with_its_object(era: Any) -> None:
    async with hosted(toy_app()) as url:
        result = await call_tool(url, era, "clash", {})

    assert result["isError"] is True
    assert result["content"] == [{"type": "text", "text": "Error calling tool 'clash': It is taken. Take another."}]
    assert result["structuredContent"] == {
        "error": {
            "type": "CONFLICT",
            "message": "It is taken.",
            "recoverable": True,
            "hint": "Take another.",
            "data": {"holders": ["BlueLake"]},
        }
    }


@ERAS
@pytest.mark.parametrize("name", ["frobnicate", "rule"])
async def test_an_unknown_tool_and_one_of_the_operators_look_the_same(era: Any, name: str) -> None:
    async with hosted(toy_app()) as url:
        result = await call_tool(url, era, name, {})

    assert result["content"] == [
        {"type": "text", "text": f"Unknown tool: {name}. There are: echo, count, clash, crash, who."}
    ]
    assert result["structuredContent"]["error"]["type"] == "NOT_FOUND"


@ERAS
async def test_an_unknown_argument_is_told_the_accepted_ones(era: Any) -> None:
    async with hosted(toy_app()) as url:
        result = await call_tool(url, era, "echo", {"text": "a", "time": 2})

    assert "Did you mean times" in result["content"][0]["text"]
    assert result["structuredContent"]["error"]["data"] == {
        "parameter": "time",
        "accepted": ["text", "times", "registration_token", "sender_token", "format"],
        "nearest": ["times"],
        "unknown": [{"name": "time", "did_you_mean": "times"}],
        "missing": [],
    }


@ERAS
async def test_a_bug_is_masked_outside_and_its_message_is_not_logged(
    era: Any, caplog: pytest.LogCaptureFixture
) -> None:
    async with hosted(toy_app()) as url:
        result = await call_tool(url, era, "crash", {"text": "s3cret"})

    error = result["structuredContent"]["error"]
    assert (error["type"], error["recoverable"]) == ("INTERNAL", False)
    assert error["data"]["request_id"]
    assert "s3cret" not in json.dumps(result)
    assert [record.getMessage() for record in caplog.records] == ["tool crash failed"]


@ERAS
async def test_a_bug_where_an_answer_is_worded_is_masked_too(era: Any, caplog: pytest.LogCaptureFixture) -> None:
    async def odd() -> Json:
        """Answer with what no answer can hold."""
        return {"s3cret": {"a set"}}

    async with hosted(toy_app(more_tools=(tool(odd, cluster="toys", title="Odd"),))) as url:
        answer = (await post(f"{url}/mcp", era, "tools/call", {"name": "odd", "arguments": {}})).json()

    assert answer["error"]["code"] == -32603
    assert answer["error"]["data"]["error"]["type"] == "INTERNAL"
    assert "serializable" not in json.dumps(answer)
    assert [record.getMessage() for record in caplog.records] == ["tools/call failed"]


@ERAS
async def test_a_failed_read_is_a_json_rpc_error_with_the_error_object(era: Any) -> None:
    async with hosted(toy_app()) as url:
        answer = (await post(f"{url}/mcp", era, "resources/read", {"uri": "resource://toi/ball"})).json()

    assert answer["error"]["data"]["error"]["type"] == "NOT_FOUND"
    assert answer["error"]["data"]["error"]["data"]["nearest"] == ["resource://toy/{name}{?limit}"]
    assert answer["error"]["code"] == (-32602 if era is modern_call else -32002)


@ERAS
async def test_a_bug_in_a_resource_is_masked(era: Any) -> None:
    async with hosted(toy_app()) as url:
        answer = (await post(f"{url}/mcp", era, "resources/read", {"uri": "resource://broken"})).json()

    assert answer["error"]["code"] == -32603
    assert answer["error"]["data"]["error"]["type"] == "INTERNAL"
    assert "secret" not in json.dumps(answer)


@ERAS
async def test_tools_are_listed_with_strict_schemas_and_hints_and_without_output_schemas(era: Any) -> None:
    async with hosted(toy_app()) as url:
        answer = (await post(f"{url}/mcp", era, "tools/list", {})).json()

    assert answer["result"]["tools"][0] == {
        "name": "echo",
        "title": "Echo",
        "description": "Say it again.",
        "inputSchema": {
            "type": "object",
            "properties": {"text": {"type": "string"}, "times": {"type": "integer", "default": 1}},
            "required": ["text"],
        },
        "annotations": {
            "readOnlyHint": True,
            "destructiveHint": False,
            "idempotentHint": True,
            "openWorldHint": False,
        },
    }
    assert answer["result"]["tools"][3]["annotations"]["destructiveHint"] is True


@ERAS
@pytest.mark.parametrize("path", PATHS)
async def test_every_alias_answers_without_a_redirect(era: Any, path: str) -> None:
    async with hosted(toy_app()) as url:
        response = await post(f"{url}{path}", era, "tools/call", {"name": "count", "arguments": {}})

    assert response.status_code == 200
    assert response.json()["result"]["structuredContent"]["result"][0] == {"number": 0}


async def test_an_unknown_session_is_served_all_the_same() -> None:
    async with hosted(toy_app()) as url:
        response = await post(
            f"{url}/mcp", handshake_call, "tools/call", {"name": "count"}, **{"Mcp-Session-Id": "of-a-former-life"}
        )

    assert response.status_code == 200
    assert len(response.json()["result"]["structuredContent"]["result"]) == 3


async def test_initialize_gives_a_session_even_to_who_shows_an_old_one() -> None:
    params = {"protocolVersion": HANDSHAKE, "capabilities": {}, "clientInfo": {"name": "tests", "version": "1"}}
    async with hosted(toy_app()) as url:
        response = await post(f"{url}/mcp", handshake_call, "initialize", params, **{"Mcp-Session-Id": "old"})

    assert response.status_code == 200
    assert response.headers["mcp-session-id"] not in ("", "old")


async def test_a_restart_between_two_calls_of_one_client_goes_unnoticed() -> None:
    async with AsyncExitStack() as stack:
        first = await stack.enter_async_context(AsyncExitStack())
        url = await first.enter_async_context(hosted(toy_app()))
        streams = await stack.enter_async_context(streamable_http_client(f"{url}/mcp"))
        session = await stack.enter_async_context(ClientSession(streams[0], streams[1]))
        await session.initialize()
        before = await session.call_tool("count", {})
        await first.aclose()
        async with hosted(toy_app(), port=int(url.rpartition(":")[2])):
            after = await session.call_tool("count", {})
            listed = await session.list_tools()
            await stack.aclose()

    assert after.structured_content == before.structured_content
    assert len(listed.tools) == 5


async def test_ending_an_unknown_session_succeeds_and_opening_its_stream_is_declined() -> None:
    headers = {"Mcp-Session-Id": "old", "Accept": "text/event-stream"}
    async with hosted(toy_app()) as url, httpx.AsyncClient(headers=headers, timeout=60) as client:
        ended = await client.delete(f"{url}/mcp")
        opened = await client.get(f"{url}/mcp")

    assert (ended.status_code, opened.status_code) == (200, 405)


async def test_what_is_no_json_rpc_is_refused_and_the_server_lives() -> None:
    async with hosted(toy_app()) as url, httpx.AsyncClient(headers=JSON_HEADERS, timeout=60) as client:
        bad = [
            (await client.post(f"{url}/mcp", content=content)).status_code
            for content in (b"", b"{", b"[]", b'{"jsonrpc":"2.0"}', b"[" * 5000, b'"initialize"', b"\xff\xfe")
        ]
        alive = await call_tool(url, handshake_call, "count", {})

    assert bad == [400] * 7
    assert alive["isError"] is False


@ERAS
@pytest.mark.parametrize("arguments", ["text", 5, ["a"]])
async def test_arguments_that_are_no_object_are_a_protocol_error(era: Any, arguments: Any) -> None:
    async with hosted(toy_app()) as url:
        response = await post(f"{url}/mcp", era, "tools/call", {"name": "echo", "arguments": arguments})

    assert response.json()["error"]["code"] == -32602


@ERAS
async def test_a_lone_surrogate_in_a_name_is_answered(era: Any) -> None:
    body, headers = era("tools/call", {"name": "echo", "arguments": {"te\ud800xt": 1}})
    async with hosted(toy_app()) as url, httpx.AsyncClient(headers={**JSON_HEADERS, **headers}, timeout=60) as client:
        response = await client.post(f"{url}/mcp", content=json.dumps(body).encode())
        alive = await call_tool(url, era, "count", {})

    assert response.status_code in (200, 400)
    assert alive["isError"] is False


async def test_the_clients_error_of_a_failed_read_carries_our_object() -> None:
    async with hosted(toy_app()) as url, fastmcp.Client(f"{url}/mcp") as client:
        with pytest.raises(MCPError) as failed:
            await client.read_resource_mcp("resource://toy/ball?limit=0")

    assert failed.value.error.data["error"]["type"] == "INVALID_INPUT"


async def test_a_running_call_is_answered_before_the_server_stops() -> None:
    entered, released = asyncio.Semaphore(0), asyncio.Event()

    async def hold() -> Json:
        entered.release()
        await released.wait()
        return {"held": True}

    app = toy_app(more_tools=(tool(hold, cluster="toys", title="Hold"),))
    async with AsyncExitStack() as server:
        url = await server.enter_async_context(hosted(app, on_stopping=released.set))
        calls = [asyncio.create_task(call_tool(url, handshake_call, "hold", {}))]
        calls += [asyncio.create_task(call_tool(url, modern_call, "hold", {}))]
        for _ in calls:
            await entered.acquire()
        await server.aclose()

    assert [(await call)["structuredContent"] for call in calls] == [{"held": True}] * 2


async def test_a_client_beyond_the_last_session_is_served_without_one() -> None:
    calls = Calls(ToolTable(toy_tools()), ResourceTable([]))
    endpoint = McpEndpoint(create_mcp(calls, version=VERSION), max_sessions=1)
    app = HttpApp(endpoint, calls, toy_edge(), HttpOptions(), is_ready=always_ready)
    async with hosted(app) as url:
        seen = []
        for _ in range(3):
            async with (
                streamable_http_client(f"{url}/mcp", terminate_on_close=False) as streams,
                ClientSession(streams[0], streams[1]) as session,
            ):
                hello = await session.initialize()
                result = await session.call_tool("count", {"limit": 1})
                seen.append((hello.server_info.name, result.structured_content))

    assert seen == [(SERVER_NAME, {"result": [{"number": 0}]})] * 3


class _CountingHandler:
    def __init__(self, handler: Any) -> None:
        self.calls = 0
        self._handler = handler

    async def __call__(self, ctx: Any, params: Any) -> Any:
        self.calls += 1
        return await self._handler(ctx, params)


@ERAS
async def test_a_call_goes_straight_to_our_table(era: Any) -> None:
    """Guards what we touch of FastMCP: a release that moves it would only be slow, and nothing else would say so."""
    calls = Calls(ToolTable(toy_tools()), ResourceTable([]))
    mcp = create_mcp(calls, version=VERSION)
    server = mcp._mcp_server
    entry = server.get_request_handler("tools/list")
    assert entry is not None
    listing = _CountingHandler(entry.handler)
    server.add_request_handler("tools/list", entry.params_type, listing)
    app = HttpApp(McpEndpoint(mcp), calls, toy_edge(), HttpOptions(), is_ready=always_ready)
    async with hosted(app) as url:
        result = await call_tool(url, era, "echo", {"text": "a"})
        before = listing.calls
        await post(f"{url}/mcp", era, "tools/list", {})

    assert result["structuredContent"]["text"] == "a"
    assert (before, listing.calls) == (0, 1)
    assert [type(middleware).__name__ for middleware in server.middleware] == ["_Bypass"]

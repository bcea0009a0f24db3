"""Sessions and headers at the MCP endpoint, over real HTTP without an MCP client."""

from __future__ import annotations

import asyncio
import http.client
import json
from typing import Any

import httpx
import pytest
from mcp_types.version import KNOWN_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

from tests.server.hosted import hosted, toy_app
from tests.server.test_mcp import ERAS, HANDSHAKE, JSON_HEADERS, handshake_call, modern_call, post


async def _open_session(url: str) -> str:
    params = {"protocolVersion": HANDSHAKE, "capabilities": {}, "clientInfo": {"name": "tests", "version": "1"}}
    response = await post(f"{url}/mcp", handshake_call, "initialize", params)
    return response.headers["mcp-session-id"]


async def test_a_session_that_its_client_ended_is_gone() -> None:
    async with hosted(toy_app()) as url, httpx.AsyncClient(headers=JSON_HEADERS, timeout=60) as client:
        session = {"Mcp-Session-Id": await _open_session(url), "MCP-Protocol-Version": HANDSHAKE}
        ended = await client.delete(f"{url}/mcp", headers=session)
        after = await post(f"{url}/mcp", handshake_call, "tools/list", {}, **session)

    assert (ended.status_code, after.status_code) == (200, 404)
    assert after.json()["error"]["message"] == "The client ended this session."


async def test_blanks_around_a_headers_value_do_not_belong_to_it() -> None:
    body, headers = modern_call("tools/call", {"name": "count", "arguments": {}})

    def send(url: str) -> int:
        # httpx refuses to send such a value.
        connection = http.client.HTTPConnection(url.removeprefix("http://"))
        try:
            connection.request("POST", "/mcp", json.dumps(body), {**JSON_HEADERS, **headers, "Mcp-Name": "  count \t"})
            return connection.getresponse().status
        finally:
            connection.close()

    async with hosted(toy_app()) as url:
        status = await asyncio.to_thread(send, url)

    assert status == 200


async def test_a_name_header_that_differs_from_the_body_is_refused() -> None:
    async with hosted(toy_app()) as url:
        response = await post(
            f"{url}/mcp", modern_call, "tools/call", {"name": "count", "arguments": {}}, **{"Mcp-Name": "echo"}
        )

    assert (response.status_code, response.json()["error"]["code"]) == (400, -32020)


@ERAS
@pytest.mark.parametrize(
    ("method", "params", "told"),
    [
        ("tools/call", {"arguments": {}}, ["tools/call needs params.name", "tools/list"]),
        ("tools/call", {"name": "count", "arguments": []}, ["params.arguments must be an object", "tools/list"]),
        ("resources/read", {}, ["resources/read needs params.uri", "resources/list"]),
        ("prompts/get", {}, ["prompts/get needs params.name", "prompts/list"]),
        (
            "completion/complete",
            {"ref": {}},
            ["needs params.argument", "ref/resource"],
        ),
    ],
)
async def test_params_that_mcp_does_not_take_are_told_by_what_is_wrong_with_them(
    era: Any, method: str, params: dict[str, Any], told: list[str]
) -> None:
    body, headers = era(method, params)

    async with hosted(toy_app()) as url, httpx.AsyncClient(headers=JSON_HEADERS, timeout=60) as client:
        response = await client.post(f"{url}/mcp", json=body, headers=headers)

    error = response.json()["error"]
    assert error["code"] == -32602
    assert [part for part in told if part not in error["message"]] == []
    assert error["data"]["error"]["type"] == "INVALID_INPUT"


@ERAS
@pytest.mark.parametrize("method", ["tools/call", "initialize"])
async def test_a_version_that_is_not_served_is_told_with_those_that_are(era: Any, method: str) -> None:
    body, headers = era(method, {"name": "count", "arguments": {}})
    headers["MCP-Protocol-Version"] = "1999-01-01"
    if "_meta" in body["params"]:
        body["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = "1999-01-01"

    async with hosted(toy_app()) as url, httpx.AsyncClient(headers=JSON_HEADERS, timeout=60) as client:
        response = await client.post(f"{url}/mcp", json=body, headers=headers)
        answer = response.json()

    assert (response.status_code, answer["id"], answer["error"]["code"]) == (400, 1, -32022)
    assert answer["error"]["message"].startswith("MCP 1999-01-01 is not served. Served are 2024-11-05, ")
    assert f"Send MCP-Protocol-Version: {HANDSHAKE}, or no such header." in answer["error"]["message"]
    supported = MODERN_PROTOCOL_VERSIONS if "_meta" in body["params"] else KNOWN_PROTOCOL_VERSIONS
    assert answer["error"]["data"] == {"supported": [*supported], "requested": "1999-01-01"}


async def test_a_resource_that_does_not_exist_is_named_in_the_error() -> None:
    async with hosted(toy_app()) as url:
        response = await post(f"{url}/mcp", modern_call, "resources/read", {"uri": "resource://nowhere"})

    error: dict[str, Any] = response.json()["error"]
    assert (error["code"], error["data"]["uri"]) == (-32602, "resource://nowhere")
    assert error["data"]["error"]["type"] == "NOT_FOUND"


async def test_no_subscription_is_promised_in_either_era() -> None:
    hello = {"protocolVersion": HANDSHAKE, "capabilities": {}, "clientInfo": {"name": "tests", "version": "1"}}
    async with hosted(toy_app()) as url:
        told = [
            (await post(f"{url}/mcp", handshake_call, "initialize", hello)).json()["result"]["capabilities"],
            (await post(f"{url}/mcp", modern_call, "server/discover", {})).json()["result"]["capabilities"],
        ]
        asked = await post(f"{url}/mcp", handshake_call, "resources/subscribe", {"uri": "resource://toys"})

    assert [capabilities["resources"].get("subscribe", False) for capabilities in told] == [False, False]
    assert asked.json()["error"]["code"] == -32601


async def test_what_curl_sends_at_first_is_told_what_to_send() -> None:
    async with hosted(toy_app()) as url, httpx.AsyncClient(timeout=60) as client:
        untyped = await client.post(f"{url}/mcp", content=b"{}")
        plain = await client.post(f"{url}/mcp", json={"tool": "echo"})

    assert (untyped.status_code, untyped.json()["detail"]) == (400, "Send Content-Type: application/json.")
    assert plain.status_code == 400
    told = plain.json()["error"]["message"]
    assert '"method": "tools/call"' in told
    assert "POST /rpc/<tool>" in told

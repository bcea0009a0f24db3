"""`POST /rpc/{tool}`, and that it and `tools/call` are two doors to one room."""

from __future__ import annotations

import json
import sys
from typing import Any

import httpx
import pytest
from starlette.types import Message

from mcp_agent_mail.core.resources import ResourceTable
from mcp_agent_mail.core.tools import Credentials, Json, ToolTable, tool
from mcp_agent_mail.server.dispatch import Calls, RequestFacts
from mcp_agent_mail.server.rpc import Rpc
from tests.server.hosted import hosted, toy_app

CALLS: list[tuple[str, dict[str, Any]]] = [
    ("echo", {"text": "a", "times": "2"}),
    ("echo", {"text": " "}),
    ("echo", {"text": "a", "time": 2}),
    ("echo", {}),
    ("echo", {"text": 5, "times": 2.5}),
    ("count", {}),
    ("count", {"limit": "2"}),
    ("count", {"limit": None}),
    ("clash", {}),
    ("clash", {"anything": 1}),
    ("nothing", {}),
]


@pytest.mark.parametrize(("tool", "arguments"), CALLS)
async def test_a_call_means_the_same_through_both_doors(tool: str, arguments: dict[str, Any]) -> None:
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
    async with hosted(toy_app()) as url, httpx.AsyncClient(timeout=60) as client:
        plain = (await client.post(f"{url}/rpc/{tool}", json=arguments)).json()
        wrapped = (await client.post(f"{url}/mcp", json=message)).json()["result"]

    structured = wrapped["structuredContent"]
    assert plain == (structured["result"] if tool == "count" and not wrapped["isError"] else structured)
    assert wrapped["isError"] == (isinstance(plain, dict) and "error" in plain)
    if not wrapped["isError"]:
        assert json.loads(wrapped["content"][0]["text"]) == plain


async def test_a_result_is_the_tools_own_value() -> None:
    async with hosted(toy_app()) as url, httpx.AsyncClient(timeout=60) as client:
        listed = await client.post(f"{url}/rpc/count", json={"limit": 2})
        empty = await client.post(f"{url}/rpc/count", content=b"", headers={"Content-Type": "application/json"})

    assert (listed.status_code, listed.json()) == (200, [{"number": 0}, {"number": 1}])
    assert (empty.status_code, len(empty.json())) == (200, 3)


@pytest.mark.parametrize(
    ("tool", "arguments", "status", "kind"),
    [
        ("echo", {}, 400, "INVALID_INPUT"),
        ("nothing", {}, 404, "NOT_FOUND"),
        ("clash", {}, 409, "CONFLICT"),
        ("crash", {"text": "s3cret"}, 500, "INTERNAL"),
    ],
)
async def test_a_refusal_has_a_fitting_status(tool: str, arguments: dict[str, Any], status: int, kind: str) -> None:
    async with hosted(toy_app()) as url, httpx.AsyncClient(timeout=60) as client:
        answer = await client.post(f"{url}/rpc/{tool}", json=arguments)

    assert (answer.status_code, answer.json()["error"]["type"]) == (status, kind)
    assert "s3cret" not in answer.text


async def test_resources_are_read_by_uri() -> None:
    async with hosted(toy_app()) as url, httpx.AsyncClient(timeout=60) as client:
        found = await client.post(f"{url}/rpc/read_resource", json={"uri": "resource://toys"})
        missing = await client.post(f"{url}/rpc/read_resource", json={"uri": "resource://toy"})
        unnamed = await client.post(f"{url}/rpc/read_resource", json={})

    assert (found.status_code, found.json()) == (200, [{"name": "ball"}])
    assert (missing.status_code, missing.json()["error"]["type"]) == (404, "NOT_FOUND")
    assert (unnamed.status_code, unnamed.json()["error"]["type"]) == (400, "INVALID_INPUT")


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
async def test_what_a_foreign_form_can_send_is_refused(content_type: str) -> None:
    async with (
        hosted(toy_app()) as url,
        httpx.AsyncClient(headers={"Content-Type": content_type}, timeout=60) as client,
    ):
        answer = await client.post(f"{url}/rpc/count", content=b"{}")

    assert (answer.status_code, list(answer.json())) == (415, ["detail"])


@pytest.mark.parametrize("body", [b"{", b"[]", b"5", b'"text"', b"null", b"\xff", b"[" * 10_000, b'{"text":"\\ud800"}'])
async def test_what_is_no_json_object_is_invalid_input(body: bytes) -> None:
    headers = {"Content-Type": "application/json; charset=utf-8"}
    async with hosted(toy_app()) as url, httpx.AsyncClient(headers=headers, timeout=60) as client:
        answer = await client.post(f"{url}/rpc/echo", content=body)

    assert (answer.status_code, answer.json()["error"]["type"]) == (400, "INVALID_INPUT")


async def test_only_post_calls() -> None:
    async with hosted(toy_app()) as url, httpx.AsyncClient(timeout=60) as client:
        answer = await client.get(f"{url}/rpc/count")

    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


async def test_while_a_call_runs_nobody_holds_its_body() -> None:
    body = bytes(bytearray(b"{}" + b" " * 100))

    def holders() -> int:
        return sys.getrefcount(body)

    ours = holders()
    pending: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]
    during: list[int] = []

    async def look() -> Json:
        """Count who holds the body."""
        during.append(holders())
        return {}

    async def receive() -> Message:
        return pending.pop()

    async def send(message: Message) -> None:
        pass

    calls = Calls(ToolTable([tool(look, cluster="toys", title="Look")]), ResourceTable([]))
    facts = RequestFacts(credentials=Credentials(via="rpc"), request_id="1", opener=None)
    await Rpc(calls).answer("look", {"method": "POST"}, {b"content-type": b"application/json"}, facts, receive, send)

    assert during == [ours]

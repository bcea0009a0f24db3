"""What is answered past FastMCP, and what ends or holds it: cancellation, ids, idle sessions."""

from __future__ import annotations

import asyncio
import json
import logging
import math
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from starlette.types import Message

from mcp_agent_mail.core.resources import ResourceTable
from mcp_agent_mail.core.tools import Credentials, Json, ToolTable, tool
from mcp_agent_mail.server.dispatch import Calls, RequestFacts
from mcp_agent_mail.server.edge.rates import RateClass
from mcp_agent_mail.server.mcp import FACTS, create_mcp, fast_path_of
from mcp_agent_mail.server.mcp_endpoint import McpEndpoint
from mcp_agent_mail.server.transport.http import HttpApp, HttpOptions
from tests.server.fast_path.test_known_requests import INITIALIZE
from tests.server.hosted import VERSION, always_ready, hosted, toy_edge, toy_resources, toy_tools
from tests.server.test_mcp import JSON_HEADERS, handshake_call, modern_call


class Counted:
    """One server whose handlers count what reaches them, with a tool that waits."""

    def __init__(self) -> None:
        self.begun, self.may_end = asyncio.Semaphore(0), asyncio.Event()
        self.ended: list[str] = []
        self.reached: list[str] = []

        async def hold() -> Json:
            """Wait."""
            self.begun.release()
            try:
                await self.may_end.wait()
            except asyncio.CancelledError:
                self.ended.append("cancelled")
                raise
            return {"held": True}

        tools = ToolTable([*toy_tools(), tool(hold, cluster="toys", title="Hold")])
        calls = Calls(tools, ResourceTable(toy_resources()))
        mcp = create_mcp(calls, version=VERSION)
        server = mcp._mcp_server
        for method in ("tools/call", "resources/read", "ping"):
            self._count(server, method)
        self.endpoint = McpEndpoint(mcp, fast_path=fast_path_of(mcp, calls))
        self.app = HttpApp(self.endpoint, calls, toy_edge(), HttpOptions(), is_ready=always_ready)

    def _count(self, server: Any, method: str) -> None:
        entry = server.get_request_handler(method)
        assert entry is not None

        async def counted(ctx: Any, params: Any) -> Any:
            self.reached.append(method)
            return await entry.handler(ctx, params)

        server.add_request_handler(method, entry.params_type, counted)


class Session:
    def __init__(self, url: str, client: httpx.AsyncClient, name: str) -> None:
        self.name = name
        self._url, self._client = url, client

    async def post(self, body: Any, **headers: str) -> httpx.Response:
        named = {"Mcp-Session-Id": self.name}
        return await self._client.post(self._url, json=body, headers={**JSON_HEADERS, **named, **headers})

    def call(self, name: str, request_id: Any) -> asyncio.Task[httpx.Response]:
        message = {"jsonrpc": "2.0", "id": request_id, "method": "tools/call", "params": {"name": name}}
        return asyncio.create_task(self.post(message))

    async def cancel(self, request_id: Any) -> None:
        params = {"requestId": request_id}
        told = await self.post({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})
        assert told.status_code == 202


@pytest.fixture
def counted() -> Counted:
    return Counted()


@pytest.fixture
async def session(counted: Counted) -> AsyncIterator[Session]:
    async with hosted(counted.app) as url, httpx.AsyncClient(timeout=60) as client:
        hello = await client.post(f"{url}/mcp", json=INITIALIZE, headers=JSON_HEADERS)
        try:
            yield Session(f"{url}/mcp", client, hello.headers["mcp-session-id"])
        finally:
            counted.may_end.set()


@pytest.mark.parametrize("era", [handshake_call, modern_call], ids=["handshake", "modern"])
async def test_known_calls_and_reads_reach_no_handler_of_fastmcps(counted: Counted, era: Any) -> None:
    async with hosted(counted.app) as url, httpx.AsyncClient(timeout=60) as client:
        for method, params in (
            ("tools/call", {"name": "count", "arguments": {"limit": 1}}),
            ("resources/read", {"uri": "resource://toys"}),
        ):
            body, headers = era(method, params)
            answer = await client.post(f"{url}/mcp", json=body, headers={**JSON_HEADERS, **headers})
            assert "result" in answer.json(), answer.text

    assert counted.reached == []


async def test_in_a_session_too_with_a_token_for_progress_of_which_nothing_is_told(
    counted: Counted, session: Session
) -> None:
    params = {"name": "count", "arguments": {}, "_meta": {"progressToken": 7, "client/toolUseId": "x"}}
    called = await session.post({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
    pinged = await session.post({"jsonrpc": "2.0", "id": 2, "method": "ping"})

    assert called.json()["result"]["structuredContent"]["result"][0] == {"number": 0}
    assert pinged.json() == {"jsonrpc": "2.0", "id": 2, "result": {}}
    assert counted.reached == []


async def test_a_ping_is_charged_as_other_requests_are_and_a_call_or_read_once_where_it_is_run(
    counted: Counted,
) -> None:
    charged: list[RateClass] = []
    headers = {b"content-type": b"application/json"}
    facts = RequestFacts(credentials=Credentials(via="mcp"), request_id="1", opener=None, charge=charged.append)
    scope = {"type": "http", "method": "POST", "headers": list(headers.items()), FACTS: facts}
    sent: list[Message] = []

    async def ask(**message: Any) -> None:
        async def receive() -> Message:
            return {"type": "http.request", "body": json.dumps({"jsonrpc": "2.0", "id": 1, **message}).encode()}

        async def send(part: Message) -> None:
            sent.append(part)

        await counted.endpoint.answer(scope, headers, receive, send)

    async with counted.endpoint.opened():
        await ask(method="ping")
        await ask(method="tools/call", params={"name": "count"})
        await ask(method="resources/read", params={"uri": "resource://toys"})

    assert [b'"result"' in part["body"] for part in sent if "body" in part] == [True] * 3
    assert charged == [RateClass.OTHERS, RateClass.TOOLS, RateClass.RESOURCES]
    assert counted.reached == []


async def test_what_no_table_has_is_left_to_fastmcp(counted: Counted, session: Session) -> None:
    assert (await session.call("no_such", 1)).json()["result"]["isError"] is True
    assert counted.reached == ["tools/call"]


@pytest.mark.parametrize("named", [5, "5", "05"])
async def test_a_notification_cancels_a_call_that_runs(
    counted: Counted, session: Session, named: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """All three are one id to the SDK. And it is no bug of the server, which the log would tell of."""
    call = session.call("hold", 5)
    await counted.begun.acquire()

    await session.cancel(named)
    answer = (await call).json()

    assert answer == {"jsonrpc": "2.0", "id": 5, "error": {"code": -32800, "message": "Request cancelled"}}
    assert counted.ended == ["cancelled"]
    assert [line.getMessage() for line in caplog.records if line.levelno >= logging.ERROR] == []
    assert (await session.call("count", 5)).json()["result"]["isError"] is False


@pytest.mark.parametrize(
    ("changed", "headers"),
    [
        ({"jsonrpc": "1.0"}, {}),
        ({"id": 9}, {}),
        ({}, {"Accept": "text/html"}),
        ({}, {"MCP-Protocol-Version": "zz"}),
        ({}, {"MCP-Protocol-Version": "2026-07-28"}),
    ],
)
async def test_a_cancellation_that_is_refused_or_dropped_ends_nothing(
    counted: Counted, session: Session, changed: dict[str, Any], headers: dict[str, str]
) -> None:
    call = session.call("hold", 5)
    await counted.begun.acquire()
    message = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 5}, **changed}

    await session.post(message, **headers)
    counted.may_end.set()

    assert (await call).json()["result"]["structuredContent"] == {"held": True}


async def test_the_end_of_a_session_ends_what_runs_in_it(counted: Counted, session: Session) -> None:
    call = session.call("hold", 5)
    await counted.begun.acquire()

    await session._client.delete(session._url, headers={**JSON_HEADERS, "Mcp-Session-Id": session.name})
    answer = await call

    assert (answer.status_code, answer.json()["error"]["code"]) == (500, -32603)
    assert counted.ended == ["cancelled"]


async def test_another_sessions_notification_and_another_id_cancel_nothing(counted: Counted, session: Session) -> None:
    hello = await session._client.post(session._url, json=INITIALIZE, headers=JSON_HEADERS)
    other = Session(session._url, session._client, hello.headers["mcp-session-id"])
    call = session.call("hold", 5)
    await counted.begun.acquire()

    await other.cancel(5)
    await session.cancel(6)
    await session.cancel([5])
    counted.may_end.set()

    assert (await call).json()["result"]["structuredContent"] == {"held": True}
    assert counted.ended == []


async def test_of_two_calls_with_one_id_the_second_is_refused(counted: Counted, session: Session) -> None:
    call = session.call("hold", 5)
    await counted.begun.acquire()

    refused = await session.call("count", "5")
    counted.may_end.set()

    assert (refused.status_code, refused.json()["id"]) == (400, None)
    assert (await call).json()["result"]["structuredContent"] == {"held": True}


async def test_a_session_does_not_idle_while_a_call_runs_and_begins_to_anew(counted: Counted, session: Session) -> None:
    transport = counted.endpoint._sessions()[session.name]
    assert transport.idle_scope is not None
    transport.idle_scope.deadline = soon_s = asyncio.get_running_loop().time() + 60
    call = session.call("hold", 1)
    await counted.begun.acquire()
    meanwhile = transport.idle_scope.deadline
    counted.may_end.set()
    await call

    assert (meanwhile, transport._requests_in_flight) == (math.inf, 0)
    assert soon_s + 600 < transport.idle_scope.deadline < math.inf


async def test_who_answers_beside_the_sdk_leaves_its_hold_of_a_session(counted: Counted, session: Session) -> None:
    transport = counted.endpoint._sessions()[session.name]
    transport._requests_in_flight += 1
    assert transport.idle_scope is not None
    transport.idle_scope.deadline = math.inf

    await session.call("count", 1)

    assert (transport.idle_scope.deadline, transport._requests_in_flight) == (math.inf, 1)
    transport._requests_in_flight -= 1


async def test_a_session_that_answers_in_streams_is_the_sdks(counted: Counted, session: Session) -> None:
    counted.endpoint._sessions()[session.name].is_json_response_enabled = False

    streamed = await session.call("count", 1)

    assert streamed.headers["content-type"].startswith("text/event-stream")
    assert counted.reached == ["tools/call"]


async def test_a_header_that_came_twice_leaves_a_call_to_the_sdk(counted: Counted, session: Session) -> None:
    twice = [*JSON_HEADERS.items(), ("Mcp-Session-Id", session.name), ("X-Any", "1"), ("X-Any", "2")]
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "count"}}

    answer = await session._client.post(session._url, json=message, headers=twice)

    assert answer.json()["result"]["isError"] is False
    assert counted.reached == ["tools/call"]


async def test_a_session_that_its_client_ended_is_gone(session: Session) -> None:
    await session._client.delete(session._url, headers={**JSON_HEADERS, "Mcp-Session-Id": session.name})

    assert (await session.call("count", 1)).status_code == 404


async def test_without_it_all_calls_reach_the_handlers(counted: Counted) -> None:
    """So that what is counted above tells something."""
    counted.endpoint._fast_path = None
    body, headers = handshake_call("tools/call", {"name": "count", "arguments": {}})
    async with hosted(counted.app) as url, httpx.AsyncClient(timeout=60) as client:
        await client.post(f"{url}/mcp", json=body, headers={**JSON_HEADERS, **headers})

    assert counted.reached == ["tools/call"]

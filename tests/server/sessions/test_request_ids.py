"""One session, and several requests of the same id at a time: each is answered its own or refused."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from mcp_agent_mail.core.tools import JsonObject
from mcp_agent_mail.server.sessions.request_ids import (
    RequestCancelled,
    RequestIds,
    SessionEnded,
    TakenId,
    cancelled_id_of,
    request_id_of,
)
from tests.server.served_mail import PROJECT, Served, serving
from tests.server.test_mcp import HANDSHAKE, JSON_HEADERS

RED, BLUE = "RedStone", "BlueLake"


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[Served]:
    async with serving(tmp_path) as opened:
        yield opened


def call(request_id: Any, tool: str, **arguments: Any) -> dict[str, Any]:
    params = {"name": tool, "arguments": {"project_key": PROJECT, **arguments}}
    return {"jsonrpc": "2.0", "id": request_id, "method": "tools/call", "params": params}


async def session(served: Served) -> list[tuple[str, str]]:
    hello = {"protocolVersion": HANDSHAKE, "capabilities": {}, "clientInfo": {"name": "tests", "version": "1"}}
    body = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello}
    opened = await served.client.post("/mcp", json=body, headers=JSON_HEADERS)
    named = [("Mcp-Session-Id", opened.headers["mcp-session-id"]), ("MCP-Protocol-Version", HANDSHAKE)]
    return [*JSON_HEADERS.items(), *named]


async def post(served: Served, body: Any, headers: list[tuple[str, str]]) -> httpx.Response:
    return await served.client.post("/mcp", content=json.dumps(body), headers=headers, timeout=60)


@pytest.mark.parametrize("request_id", [5, "5", "05"])
async def test_nobody_gets_the_answer_that_another_waits_for_in_its_session(served: Served, request_id: Any) -> None:
    headers = await session(served)
    waits = {"timeout_s": 30, "after_cursor": 0}
    victim = asyncio.create_task(
        post(served, call(5, "wait_for_messages", agent_name=RED, **waits), headers),
    )
    await served.until_waiting(waits=1)

    other = await post(served, call(request_id, "wait_for_messages", agent_name=BLUE, **waits), headers)
    message = await served.send()
    answer = (await victim).json()

    assert (other.status_code, other.json()["id"]) == (400, None)
    assert "an id of its own" in other.json()["error"]["message"]
    assert [one["id"] for one in answer["result"]["structuredContent"]["messages"]] == [message]


async def test_an_id_that_has_been_answered_may_come_again(served: Served) -> None:
    headers = await session(served)
    asked = call(7, "fetch_inbox", agent_name=RED)

    answers = [await post(served, asked, headers) for _ in range(2)]

    assert [one.status_code for one in answers] == [200, 200]


async def test_an_id_whose_client_has_left_is_free_when_its_call_has_ended(served: Served) -> None:
    headers = await session(served)
    asked = call(7, "wait_for_messages", agent_name=RED, timeout_s=30, after_cursor=0)
    left = asyncio.create_task(post(served, asked, headers))
    await served.until_waiting(waits=1)
    left.cancel()
    await served.until_waiting()
    message = await served.send()

    answer = await post(served, asked, headers)

    assert [one["id"] for one in answer.json()["result"]["structuredContent"]["messages"]] == [message]


async def test_other_sessions_have_ids_of_their_own(served: Served) -> None:
    first, second = await session(served), await session(served)
    asked = call(7, "wait_for_messages", agent_name=RED, timeout_s=30, after_cursor=0)
    waiting = [asyncio.create_task(post(served, asked, one)) for one in (first, second)]
    await served.until_waiting(waits=2)
    await served.send()

    assert [(await one).status_code for one in waiting] == [200, 200]


@pytest.mark.parametrize(
    "message", [{"id": 5, "method": "m"}, {"id": "5", "method": "m"}, {"method": "m", "result": {}, "id": 5}]
)
def test_a_number_and_its_text_are_one_id(message: JsonObject) -> None:
    under_way = RequestIds()

    with under_way.entered(b"s", "5"), pytest.raises(TakenId), under_way.entered(b"s", request_id_of(message)):
        pass


@pytest.mark.parametrize("message", [{"method": "m"}, {"id": 5, "result": {}}, {"id": 5.0, "method": "m"}, {}])
def test_what_is_no_request_of_that_id_passes(message: JsonObject) -> None:
    under_way = RequestIds()

    with under_way.entered(b"s", "5"), under_way.entered(b"s", request_id_of(message)):
        pass


def test_the_name_of_a_sessions_own_stream_is_no_id() -> None:
    with pytest.raises(TakenId), RequestIds().entered(b"s", "_GET_stream"):
        pass


async def _running(ids: RequestIds, begun: asyncio.Event, *, goes_on: bool = False) -> str:
    try:
        with ids.running(b"s", 5):
            begun.set()
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                if not goes_on:
                    raise
    except (RequestCancelled, SessionEnded) as ended:
        task = asyncio.current_task()
        assert task is not None
        await asyncio.sleep(0)
        return f"{type(ended).__name__} {task.cancelling()}"
    return "done"


@pytest.mark.parametrize(
    ("message", "named"),
    [
        ({"method": "notifications/cancelled", "params": {"requestId": 5}}, 5),
        ({"method": "notifications/cancelled", "params": {"requestId": "05"}}, "05"),
        ({"method": "notifications/cancelled", "params": {}}, None),
        ({"method": "notifications/cancelled", "params": [5]}, None),
        ({"method": "notifications/progress", "params": {"requestId": 5}}, None),
        ({"id": 1, "result": {"requestId": 5}}, None),
    ],
)
def test_only_a_cancellation_names_an_id_that_it_cancels(message: JsonObject, named: str | int | None) -> None:
    assert cancelled_id_of(message) == named


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("goes_on", [False, True])
async def test_a_cancelled_one_is_told_once_and_its_task_lives_on(times: int, goes_on: bool) -> None:
    """Also where its work does not end by it."""
    ids, begun = RequestIds(), asyncio.Event()
    task = asyncio.create_task(_running(ids, begun, goes_on=goes_on))
    await begun.wait()

    for _ in range(times):
        ids.cancel(b"s", 5)

    assert await task == "RequestCancelled 0"
    with ids.running(b"s", 5):
        pass


async def test_what_runs_ends_with_its_session_and_with_no_other() -> None:
    ids, begun = RequestIds(), asyncio.Event()
    task = asyncio.create_task(_running(ids, begun))
    await begun.wait()

    ids.end(b"other")
    ids.cancel(b"other", 5)
    is_left = task.cancelling() == 0
    ids.end(b"s")

    assert (is_left, await task) == (True, "SessionEnded 0")


async def test_an_end_of_the_task_itself_is_no_cancellation_by_the_client() -> None:
    ids, begun = RequestIds(), asyncio.Event()
    task = asyncio.create_task(_running(ids, begun))
    await begun.wait()

    ids.cancel(b"s", 5)
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task

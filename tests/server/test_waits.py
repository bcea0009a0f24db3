"""`wait_for_messages` over real HTTP, on `/rpc` and in both eras of MCP: what wakes, and whoever hangs up is gone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.server.served_mail import ME, Served, serving

LONG = {**ME, "timeout_s": 50}
MODERN = {
    "MCP-Protocol-Version": "2026-07-28",
    "Mcp-Method": "tools/call",
    "Mcp-Name": "wait_for_messages",
}
DOORS = ("rpc", "session", "stateless", "modern")


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[Served]:
    async with serving(tmp_path) as opened:
        yield opened


async def _session(served: Served) -> dict[str, str]:
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    opened = await served.client.post(
        "/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}, headers=_ACCEPT
    )
    return {"Mcp-Session-Id": opened.headers["mcp-session-id"], "MCP-Protocol-Version": "2025-11-25"}


_ACCEPT = {"Accept": "application/json, text/event-stream"}


async def wait(served: Served, door: str) -> dict[str, Any]:
    if door == "rpc":
        answer = await served.client.post("/rpc/wait_for_messages", json=LONG, timeout=60)
        result: dict[str, Any] = answer.json()
        return result
    headers = {"session": await _session(served) if door == "session" else {}, "modern": MODERN}.get(door, {})
    params: dict[str, Any] = {"name": "wait_for_messages", "arguments": LONG}
    if door == "modern":
        params["_meta"] = {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        }
    body = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params}
    answer = await served.client.post("/mcp", json=body, headers={**_ACCEPT, **headers}, timeout=60)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()["result"]["structuredContent"]
    return found


@pytest.mark.parametrize("door", DOORS)
async def test_a_send_wakes_a_wait_at_every_door(served: Served, door: str) -> None:
    waiting = asyncio.create_task(wait(served, door))
    await served.until_waiting(waits=1)

    message = await served.send()

    answer = await waiting
    assert ([item["id"] for item in answer["messages"]], answer["timed_out"]) == ([message], False)
    assert served.services.delivery.waiters.figures().waits == 0


@pytest.mark.parametrize("door", DOORS)
async def test_whoever_hangs_up_frees_its_place_at_every_door(served: Served, door: str) -> None:
    waiting = asyncio.create_task(wait(served, door))
    await served.until_waiting(waits=1)

    waiting.cancel()

    await served.until_waiting()
    with pytest.raises(asyncio.CancelledError):
        await waiting


async def test_what_a_lost_answer_held_is_answered_again(served: Served) -> None:
    """The answer is written to a connection that is gone: nothing was taken by it."""
    waiting = asyncio.create_task(wait(served, "rpc"))
    await served.until_waiting(waits=1)
    waiting.cancel()
    message = await served.send()

    answer = await wait(served, "rpc")

    assert [item["id"] for item in answer["messages"]] == [message]


async def test_more_than_may_wait_are_unavailable_and_told_when_to_come_back(tmp_path: Path) -> None:
    async with serving(tmp_path, WAITERS_MAX="10") as served:
        served.client.headers["X-Agent-Token"] = served.tokens["RedStone"]
        waits = [asyncio.create_task(wait(served, "rpc")) for _ in range(10)]
        await served.until_waiting(waits=10)

        refused: httpx.Response = await served.client.post("/rpc/wait_for_messages", json=LONG)

        assert (refused.status_code, refused.json()["error"]["type"]) == (503, "UNAVAILABLE")
        assert refused.json()["error"]["data"] == {"waiting": 10, "limit": 10, "retry_after_s": 5}
        del served.client.headers["X-Agent-Token"]
        message = await served.send()
        assert [one["messages"][0]["id"] for one in await asyncio.gather(*waits)] == [message] * 10


async def test_who_proves_nothing_leaves_a_place_to_who_is_proven(tmp_path: Path) -> None:
    """By however many names: they may all be one caller."""
    async with serving(tmp_path, WAITERS_MAX="10") as served:
        names = ["RedStone", "BlueLake"]
        waits = [
            asyncio.create_task(served.call("wait_for_messages", agent_name=names[number % 2], timeout_s=50))
            for number in range(9)
        ]
        await served.until_waiting(waits=9)

        refused: httpx.Response = await served.client.post("/rpc/wait_for_messages", json=LONG)
        token = {"X-Agent-Token": served.tokens["RedStone"]}
        proven = asyncio.create_task(served.client.post("/rpc/wait_for_messages", json=LONG, headers=token))
        await served.until_waiting(waits=10)
        await served.send(sender_name="RedStone", to=["RedStone", "BlueLake"])

        assert refused.json()["error"]["data"] == {"waiting": 9, "limit": 9, "retry_after_s": 5}
        assert (await proven).status_code == 200
        await asyncio.gather(*waits)

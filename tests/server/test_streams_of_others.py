"""Streams over real HTTP that somebody opens who did not subscribe, and streams that ask for nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from mcp_agent_mail.core.ids import token_hash
from mcp_agent_mail.store.transaction import Tx
from tests.server.served_mail import Served, serving
from tests.server.subscribers import ERAS, MODERN, WITHIN_S, subscribed
from tests.server.test_mcp import JSON_HEADERS, handshake_call, modern_call, post
from tests.server.test_subscriptions import INBOX, listening, url_of


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[Served]:
    async with serving(tmp_path) as opened:
        yield opened


@dataclass
class Session:
    """One of the handshake era, by its id, as whoever knows it can use it."""

    served: Served
    headers: dict[str, str]

    @classmethod
    async def opened(cls, served: Served) -> Session:
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        opened = await post(f"{url_of(served)}/mcp", handshake_call, "initialize", hello)
        session_id = opened.headers["mcp-session-id"]
        return cls(served, {"Mcp-Session-Id": session_id, "MCP-Protocol-Version": "2025-11-25"})

    async def subscribe(self, *uris: str, **headers: str) -> None:
        for uri in uris:
            url, params = f"{url_of(self.served)}/mcp", {"uri": uri}
            answer = await post(url, handshake_call, "resources/subscribe", params, **self.headers, **headers)
            assert answer.json()["result"] == {}

    @asynccontextmanager
    async def told(self, **headers: str) -> AsyncIterator[AsyncIterator[str]]:
        given = {**JSON_HEADERS, **self.headers, **headers}
        async with self.served.client.stream("GET", "/mcp", headers=given) as stream:
            assert stream.status_code == 200
            yield _data(stream)


async def _data(stream: httpx.Response) -> AsyncIterator[str]:
    async for line in stream.aiter_lines():
        if line.startswith("data:"):
            yield line


def token_of(served: Served, agent: str) -> dict[str, str]:
    return {"X-Agent-Token": served.tokens[agent]}


async def test_a_stream_that_another_opens_tells_nothing_of_a_blind_copy_and_makes_nobody_listen(
    served: Served,
) -> None:
    """Whoever knows the id of a session can open its stream; what is subscribed to in it is another's."""
    green = await served.call("register_agent", name="GreenField", program="p", model="m")
    served.tokens["GreenField"] = green["registration_token"]
    number = await served.send(to=["RedStone"], bcc=["GreenField"])
    session = await Session.opened(served)
    await session.subscribe(
        f"resource://message/{number}", "resource://inbox/GreenField", **token_of(served, "GreenField")
    )

    async with session.told(**token_of(served, "BlueLake")) as lines:
        listens = await listening(served, "GreenField")
        await served.call("mark_message_read", agent_name="GreenField", message_id=number)
        await served.client.get("/health/liveness")
        await served.call("mark_message_read", agent_name="RedStone", message_id=number)
        told = [await anext(lines)]
        await served.call("acknowledge_message", agent_name="RedStone", message_id=number)
        told.append(await anext(lines))
    await served.until_waiting()
    async with session.told(**token_of(served, "GreenField")):
        own = await listening(served, "GreenField")

    assert listens == (False, None)
    assert own == (True, "stream")
    assert all(f"resource://message/{number}" in line for line in told)


async def test_to_its_own_reader_a_blind_copy_is_told_on_the_same_stream(served: Served) -> None:
    green = await served.call("register_agent", name="GreenField", program="p", model="m")
    served.tokens["GreenField"] = green["registration_token"]
    number = await served.send(to=["RedStone"], bcc=["GreenField"])
    session = await Session.opened(served)
    await session.subscribe(f"resource://message/{number}", **token_of(served, "GreenField"))

    async with session.told(**token_of(served, "GreenField")) as lines:
        await served.call("mark_message_read", agent_name="GreenField", message_id=number)

        assert f"resource://message/{number}" in await anext(lines)


def listen_body(uris: list[str]) -> dict[str, Any]:
    return {"notifications": {"resourceSubscriptions": uris} if uris else {}}


async def test_who_proves_nothing_gets_no_place_under_strict_by_listening_for_nothing(tmp_path: Path) -> None:
    async with serving(tmp_path, AGENT_AUTH="strict", WAITERS_MAX="10") as served:
        url = f"{url_of(served)}/mcp"
        answers = [await post(url, modern_call, "subscriptions/listen", listen_body([])) for _ in range(12)]

        assert served.streams == 0
        assert {one.json()["error"]["data"]["error"]["type"] for one in answers} == {"AUTHENTICATION_REQUIRED"}


async def test_listening_for_nothing_takes_a_place_of_whoever_does_it(served: Served) -> None:
    async with subscribed(url_of(served), MODERN, []):
        await served.until_waiting(streams=1)
    await served.until_waiting()


@pytest.mark.parametrize("era", ERAS)
async def test_being_told_is_no_activity_of_the_agent_that_subscribed(served: Served, era: str) -> None:
    def last_active() -> int:
        found = served.store.read_now(
            lambda view: view.agents.find_by_token_hash(token_hash(served.tokens["RedStone"]))
        )
        assert found is not None
        return served.services.activity.with_activity([found])[0].last_active_ts

    before = last_active()
    async with subscribed(url_of(served), era, [INBOX], token_of(served, "RedStone")) as subscriber:
        await served.send()
        await subscriber.next()

    assert last_active() == before


async def test_a_stream_of_a_session_ends_with_the_token_that_opened_it_and_is_not_opened_again(served: Served) -> None:
    session = await Session.opened(served)
    red = token_of(served, "RedStone")
    await session.subscribe(INBOX, **red)

    async with session.told(**red) as lines:
        before = await listening(served)

        def reissue(tx: Tx) -> None:
            red_stone = tx.agents.find_by_token_hash(token_hash(served.tokens["RedStone"]))
            assert red_stone is not None
            tx.agents.set_token_hash(red_stone.id, b"another")

        await served.store.write(reissue)
        await served.send()
        async with asyncio.timeout(WITHIN_S):
            rest = [line async for line in lines]
    after = await listening(served)
    again = await served.client.get("/mcp", headers={**JSON_HEADERS, **session.headers, **red})

    assert (before, rest, after) == ((True, "stream"), [], (False, None))
    assert again.status_code == 403
    assert served.services.delivery.waiters.figures().streams == 0

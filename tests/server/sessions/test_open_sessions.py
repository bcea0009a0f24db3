"""Whom a session serves, how many there may be, and that what they keep is given back."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any, cast

import httpx
import pytest
from starlette.types import Message

from mcp_agent_mail.server.sessions.open_sessions import MAX_KEPT_BYTES, OpenSessions, Transports
from tests.server.served_mail import PROJECT, Served, serving
from tests.server.test_mcp import HANDSHAKE, JSON_HEADERS
from tests.server.whole_app import OPERATOR

RESULT, ERROR = b'{"jsonrpc":"2.0","id":0,"result":{}}', b'{"jsonrpc":"2.0","id":0,"error":{}}'
OWN = "one token's"


class Kept:
    """The SDK's sessions, as far as they matter here, and ours."""

    def __init__(self, *, most: int = 10) -> None:
        self.transports: dict[str, _Transport] = {}
        self.sessions = OpenSessions(lambda: cast("Transports", self.transports), most=most)
        self.sent: list[Message] = []

    async def send(self, message: Message) -> None:
        self.sent.append(message)

    async def open(
        self, name: str, size_bytes: int = 100, *, opener: str | None = None, body: bytes = RESULT, at: Any = None
    ) -> None:
        """`at` is called once the answer is under way."""
        self.transports[name] = _Transport(self.transports, name)
        async with self.sessions.opening(size_bytes, opener) as opening:
            send = opening.sending(self.send)
            await send({"type": "http.response.start", "headers": [(b"a", b"b"), (b"mcp-session-id", name.encode())]})
            await send({"type": "http.response.body", "body": body})
            if at is not None:
                at()


class _Transport:
    def __init__(self, transports: dict[str, _Transport], name: str) -> None:
        self._transports, self._name = transports, name

    async def terminate(self) -> None:
        del self._transports[self._name]


@pytest.fixture
def kept() -> Kept:
    return Kept()


@pytest.mark.parametrize(("opener", "may_use"), [(OWN, [OWN]), (None, [OWN, "another's", None])])
async def test_one_that_a_token_opened_serves_that_token_alone(
    kept: Kept, opener: str | None, may_use: list[Any]
) -> None:
    await kept.open("a", opener=opener)

    found = [one for one in (OWN, "another's", None) if kept.sessions.find(b"a", one)]

    assert found == may_use
    assert kept.sessions.is_open(b"a")
    assert kept.sessions.find(b"b", OWN) is None
    assert kept.sessions.find(None, OWN) is None


async def test_one_that_the_sdk_ended_is_found_no_more(kept: Kept) -> None:
    await kept.open("a", opener=OWN)
    del kept.transports["a"]

    assert kept.sessions.find(b"a", OWN) is None
    assert not kept.sessions.is_open(b"a")


@pytest.mark.parametrize("body", [ERROR, b"", b"no JSON"])
async def test_one_that_had_no_result_is_ended_before_anybody_hears_of_it(kept: Kept, body: bytes) -> None:
    await kept.open("a", MAX_KEPT_BYTES, body=body)

    assert kept.sent[0]["headers"] == [(b"a", b"b")]
    assert (kept.transports, kept.sessions.has_room_for(MAX_KEPT_BYTES)) == ({}, True)


async def test_one_that_had_a_result_is_named_by_its_answer(kept: Kept) -> None:
    await kept.open("a")

    assert (b"mcp-session-id", b"a") in kept.sent[0]["headers"]
    assert [one["type"] for one in kept.sent] == ["http.response.start", "http.response.body"]


async def test_there_is_no_room_beyond_the_most_those_counted_that_are_opening() -> None:
    kept = Kept(most=2)
    await kept.open("a")
    async with kept.sessions.opening(100, None):
        opening = kept.sessions.has_room_for(100)

    assert (opening, kept.sessions.has_room_for(100)) == (False, True)


async def test_what_they_keep_is_bounded_together_and_counts_once_while_they_open(kept: Kept) -> None:
    half = MAX_KEPT_BYTES // 2
    seen: list[bool] = []
    async with kept.sessions.opening(half, None):
        seen.append(kept.sessions.has_room_for(half + 1))

    def look() -> None:
        seen.extend(kept.sessions.has_room_for(size) for size in (half + 1, half))

    await kept.open("a", half, at=look)

    assert seen == [False, False, True]
    assert kept.sessions.find(b"a", None) is not None


async def test_one_that_was_given_up_keeps_nothing(kept: Kept) -> None:
    with pytest.raises(asyncio.CancelledError):
        async with kept.sessions.opening(MAX_KEPT_BYTES, None):
            raise asyncio.CancelledError

    assert kept.sessions.has_room_for(MAX_KEPT_BYTES)


async def test_of_those_that_the_sdk_ended_nothing_is_kept(kept: Kept) -> None:
    await kept.open("a", MAX_KEPT_BYTES, opener=OWN)
    ended = kept.transports.pop("a")
    has_room = kept.sessions.has_room_for(MAX_KEPT_BYTES)
    kept.transports["a"] = ended

    assert has_room
    assert kept.sessions.find(b"a", OWN) is None


def test_those_that_clients_ended_are_told_apart_as_many_as_there_may_be() -> None:
    kept = Kept(most=2)
    for name in (b"a", b"b", b"c"):
        kept.sessions.end(name)

    assert [kept.sessions.has_ended(name) for name in (b"a", b"b", b"c", None)] == [False, True, True, False]


SERVER = "the-servers-own-token-of-32-letters"


def bearer(token: str) -> dict[str, str]:
    return {**JSON_HEADERS, "Authorization": f"Bearer {token}"}


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[Served]:
    async with serving(tmp_path) as opened:
        yield opened


class Session:
    """One that a token opened, and what is asked in it with any token."""

    def __init__(self, served: Served, session_id: str) -> None:
        self._client = served.client
        self.headers = {"Mcp-Session-Id": session_id, "MCP-Protocol-Version": HANDSHAKE}

    @classmethod
    async def opened(cls, served: Served, headers: Mapping[str, str]) -> Session:
        hello = {"protocolVersion": HANDSHAKE, "capabilities": {}, "clientInfo": {"name": "tests", "version": "1"}}
        body = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello}
        answer = await served.client.post("/mcp", json=body, headers=headers)
        return cls(served, answer.headers["mcp-session-id"])

    async def post(self, headers: Mapping[str, str], method: str, params: Any, **more: Any) -> httpx.Response:
        body = {"jsonrpc": "2.0", "method": method, "params": params, **more}
        return await self._client.post(
            "/mcp", content=json.dumps(body), headers={**headers, **self.headers}, timeout=60
        )

    async def opened_stream(self, headers: Mapping[str, str]) -> httpx.Response:
        """The answer's beginning, after which it is left."""
        asked = {**headers, **self.headers, "Accept": "text/event-stream"}
        async with self._client.stream("GET", "/mcp", headers=asked) as answer:
            return answer

    async def wait(self, headers: Mapping[str, str]) -> httpx.Response:
        me = {"project_key": PROJECT, "agent_name": "RedStone", "timeout_s": 30, "after_cursor": 0}
        return await self.post(headers, "tools/call", {"name": "wait_for_messages", "arguments": me}, id=5)


async def issued(served: Served) -> dict[str, str]:
    given = {"role": "writer", "note": "tests"}
    answer = await served.client.post("/rpc/create_issued_token", json=given, headers=bearer(OPERATOR))
    return bearer(answer.json()["token"])


async def test_anothers_token_ends_nothing_in_it_and_is_served_as_one_without_a_session(served: Served) -> None:
    owner, other = await issued(served), await issued(served)
    session = await Session.opened(served, owner)
    waiting = asyncio.create_task(session.wait(owner))
    await served.until_waiting(waits=1)

    seen = [
        await session.post(other, "notifications/cancelled", {"requestId": 5}),
        await session.post(other, "ping", {}, id=5),
        await session.post(other, "tools/list", {}, id=5),
        await session.opened_stream(other),
        await served.client.delete("/mcp", headers={**other, **session.headers}),
    ]
    message = await served.send()
    answer = await waiting
    after = await session.post(owner, "tools/list", {}, id=6)

    assert [one.status_code for one in seen] == [202, 200, 200, 405, 200]
    assert [one.headers.get("mcp-session-id") for one in seen] == [None] * 5
    assert [one["id"] for one in answer.json()["result"]["structuredContent"]["messages"]] == [message]
    assert (after.status_code, after.headers["mcp-session-id"]) == (200, session.headers["Mcp-Session-Id"])


async def test_its_own_token_cancels_in_it_and_ends_it(served: Served) -> None:
    owner = await issued(served)
    session = await Session.opened(served, owner)
    waiting = asyncio.create_task(session.wait(owner))
    await served.until_waiting(waits=1)

    cancelled = await session.post(owner, "notifications/cancelled", {"requestId": 5})
    answer = await waiting
    ended = await served.client.delete("/mcp", headers={**owner, **session.headers})
    after = await session.post(owner, "tools/list", {}, id=6)

    assert (cancelled.status_code, answer.json()["error"]["message"]) == (202, "Request cancelled")
    assert (ended.status_code, after.status_code) == (200, 404)


async def test_one_that_was_opened_without_a_token_serves_whatever_is_shown(served: Served) -> None:
    """Where none is needed, a client may show its agent's token, or any other, from the second request on."""
    session = await Session.opened(served, bearer(served.tokens["BlueLake"]))
    shown = [JSON_HEADERS, bearer(served.tokens["RedStone"]), await issued(served)]

    answers = [await session.post(one, "ping", {}, id=1) for one in shown]

    assert [one.headers.get("mcp-session-id") for one in answers] == [session.headers["Mcp-Session-Id"]] * 3


async def test_a_refused_initialize_names_no_session_and_leaves_none(served: Served) -> None:
    hello: dict[str, Any] = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {}}

    refused = await served.client.post("/mcp", json=hello, headers=JSON_HEADERS)

    assert (refused.status_code, "error" in refused.json()) == (200, True)
    assert "mcp-session-id" not in refused.headers

"""Who hangs up or takes a call back leaves no place in a line and no lease, through every door."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.types import Message

from mcp_agent_mail.server.transport.hearing import RequestHearing
from mcp_agent_mail.store.transaction import Tx
from tests.features.reservations.claims import Claims, open_claims
from tests.server.hosted import hosted, toy_app
from tests.server.test_mcp import HANDSHAKE, JSON_HEADERS, modern_call

WAIT = 50
NOTICED_WITHIN_S = 25
"""Half of what a call waits that nobody takes back: this tells one from the other on the slowest machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Post:
    path: str
    headers: dict[str, str]
    body: Any

    def raw(self) -> bytes:
        body = json.dumps(self.body).encode()
        headers = {"Host": "127.0.0.1", "Content-Length": str(len(body)), **JSON_HEADERS, **self.headers}
        lines = [f"POST {self.path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
        return "\r\n".join([*lines, "", ""]).encode() + body


TOOL = "file_reservation_paths"
Door = Callable[[str, dict[str, Any]], Awaitable[Post]]


async def by_rpc(_url: str, arguments: dict[str, Any]) -> Post:
    return Post(path=f"/rpc/{TOOL}", headers={}, body=arguments)


async def in_the_stateless_era(_url: str, arguments: dict[str, Any]) -> Post:
    body, headers = modern_call("tools/call", {"name": TOOL, "arguments": arguments})
    return Post(path="/mcp", headers=headers, body=body)


async def without_a_session(_url: str, arguments: dict[str, Any]) -> Post:
    params = {"name": TOOL, "arguments": arguments}
    body = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}
    return Post(path="/mcp", headers={"MCP-Protocol-Version": HANDSHAKE}, body=body)


async def in_a_session(url: str, arguments: dict[str, Any]) -> Post:
    hello = {"protocolVersion": HANDSHAKE, "capabilities": {}, "clientInfo": {"name": "tests", "version": "1"}}
    async with httpx.AsyncClient(timeout=60) as client:
        message = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello}
        opened = await client.post(f"{url}/mcp", json=message, headers=JSON_HEADERS)
    post = await without_a_session(url, arguments)
    session = {"Mcp-Session-Id": opened.headers["mcp-session-id"]}
    return Post(path=post.path, headers={**post.headers, **session}, body=post.body)


DOORS = pytest.mark.parametrize("door", [by_rpc, in_a_session, without_a_session, in_the_stateless_era])


@dataclass(frozen=True, slots=True, kw_only=True)
class House:
    """Claims that are served; BlueLake holds `a`."""

    claims: Claims
    url: str

    async def asks(self, door: Door, **arguments: Any) -> Post:
        """RedStone for `a` and `b`, at this door."""
        given = {"project_key": self.claims.root, "agent_name": "RedStone", "paths": ["a", "b"], **arguments}
        return await door(self.url, given)

    async def send(self, post: Post) -> asyncio.StreamWriter:
        _, port = self.url.rsplit(":", 1)
        _, writer = await asyncio.open_connection("127.0.0.1", int(port))
        writer.write(post.raw())
        await writer.drain()
        return writer

    async def look_round(self) -> None:
        """A whole exchange with the server, and whatever the writer had to do."""
        async with httpx.AsyncClient(timeout=60) as client:
            await client.get(f"{self.url}/health/liveness")
        await self.claims.seeded.store.write(lambda tx: tx.now)

    async def until(self, is_so: Callable[[], bool]) -> None:
        async with asyncio.timeout(NOTICED_WITHIN_S):
            while not is_so():
                await self.look_round()

    def live(self) -> list[Any]:
        """What RedStone holds."""
        of_red = "SELECT path_pattern FROM leases WHERE released_ts IS NULL AND agent_id = ?"
        return self.claims.rows(of_red, self.claims.seeded.red.id)


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    async with open_claims(tmp_path) as claims, hosted(toy_app(more_tools=tuple(claims.tools.specs()))) as url:
        await claims.hold("BlueLake", "a")
        yield House(claims=claims, url=url)
        claims.service.wake()


@DOORS
async def test_who_hangs_up_gives_up_its_place(house: House, door: Door) -> None:
    connection = await house.send(await house.asks(door, wait_seconds=WAIT, idempotency_key="k"))
    await house.until(lambda: house.claims.waiting() == 1)

    connection.close()
    await house.until(lambda: house.claims.waiting() == 0)

    assert (await house.claims.reserve("GreenField", "b"))["conflicts"] == []
    assert house.claims.rows("SELECT count(*) FROM idempotency_keys") == [(0,)]


async def test_who_takes_a_call_of_its_session_back_gives_up_its_place(house: House) -> None:
    post = await house.asks(in_a_session, wait_seconds=WAIT, idempotency_key="k")
    connection = await house.send(post)
    await house.until(lambda: house.claims.waiting() == 1)

    notice = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}
    async with httpx.AsyncClient(timeout=60) as client:
        await client.post(f"{house.url}/mcp", json=notice, headers={**JSON_HEADERS, **post.headers})
    await house.until(lambda: house.claims.waiting() == 0)

    assert house.claims.rows("SELECT count(*) FROM idempotency_keys") == [(0,)]
    connection.close()


@asynccontextmanager
async def held_up(house: House) -> AsyncIterator[None]:
    """Within, the writer does not go on."""
    holds_up, may_go_on = threading.Event(), threading.Event()

    def hold_up(_tx: Tx) -> None:
        holds_up.set()
        may_go_on.wait()

    holding_up = asyncio.create_task(house.claims.seeded.store.write(hold_up))
    await asyncio.to_thread(holds_up.wait)
    try:
        yield
    finally:
        may_go_on.set()
        await holding_up


@DOORS
async def test_a_grant_whose_answer_cannot_be_written_is_taken_back(house: House, door: Door) -> None:
    post = await house.asks(door, paths=["c", "d"], idempotency_key="k")
    async with held_up(house):
        connection = await house.send(post)
        writer = house.claims.seeded.store._writer
        while writer.pending() == 0:
            await asyncio.to_thread(threading.get_ident)
        connection.close()
        async with httpx.AsyncClient(timeout=60) as client:
            await client.get(f"{house.url}/health/liveness")

    await house.until(lambda: house.claims.rows("SELECT count(*) FROM leases")[0][0] == 3 and house.live() == [])

    assert house.claims.rows("SELECT count(*) FROM idempotency_keys") == [(0,)]


@DOORS
async def test_a_grant_whose_answer_is_written_stays(house: House, door: Door) -> None:
    post = await house.asks(door, paths=["c"], wait_seconds=WAIT, idempotency_key="k")

    async with httpx.AsyncClient(timeout=60) as client:
        answer = await client.post(
            f"{house.url}{post.path}", json=post.body, headers={**JSON_HEADERS, **post.headers}, timeout=60
        )
    await house.look_round()

    assert answer.status_code == 200
    assert house.live() == [("c",)]


class Wire:
    """An ASGI connection by hand."""

    def __init__(self) -> None:
        self.gone = asyncio.Event()
        self.sent: list[Message] = []
        self.undone: list[str] = []
        self.hearing = RequestHearing(self.receive, self.send)

    async def receive(self) -> Message:
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        self.sent.append(message)

    async def answer(self, *, status: int = 200) -> None:
        await self.hearing.send({"type": "http.response.start", "status": status, "headers": []})
        await self.hearing.send({"type": "http.response.body", "body": b"{}"})

    def promise(self) -> None:
        self.hearing.unless_heard(lambda: self.undone.append("undone"))


async def test_what_was_written_was_heard() -> None:
    wire = Wire()
    wire.promise()

    await wire.answer()
    wire.gone.set()
    wire.hearing.close()

    assert (wire.undone, len(wire.sent)) == ([], 2)


async def test_what_is_written_to_nobody_was_not_heard() -> None:
    wire = Wire()
    wire.promise()
    wire.gone.set()

    await wire.answer()

    assert wire.undone == ["undone"]


async def test_what_is_answered_otherwise_was_not_heard() -> None:
    wire = Wire()
    wire.promise()

    await wire.answer(status=500)

    assert wire.undone == ["undone"]


async def test_what_is_never_answered_was_not_heard() -> None:
    wire = Wire()
    wire.promise()

    wire.hearing.close()

    assert wire.undone == ["undone"]


async def test_who_watches_is_told_once_and_only_within() -> None:
    wire, early, gone = Wire(), asyncio.Event(), asyncio.Event()
    with wire.hearing.watched(early.set):
        pass

    with wire.hearing.watched(gone.set):
        wire.gone.set()
        await gone.wait()

    assert not early.is_set()


async def test_all_who_watch_are_told_whoever_reads_what_is_said_once() -> None:
    said = asyncio.Queue[Message]()

    async def send(_message: Message) -> None:
        pass

    hearing = RequestHearing(said.get, send)
    first, second, late = asyncio.Event(), asyncio.Event(), asyncio.Event()
    async with asyncio.timeout(NOTICED_WITHIN_S):
        with hearing.watched(first.set):
            with hearing.watched(second.set):
                said.put_nowait({"type": "http.disconnect"})
                await first.wait()
                await second.wait()
            with hearing.watched(late.set):
                await late.wait()

    assert late.is_set()

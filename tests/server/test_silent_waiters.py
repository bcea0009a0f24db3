"""Who waits in silence over real HTTP: a stream, a call and a subscription end with the rights they hang on.

At once where this server takes those back, as it does for `am`; by the next look for all where another process does.
"""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.server.rest.test_events import Reading, reading
from tests.server.served_mail import ME, PROJECT, Served, serving
from tests.server.subscribers import MODERN, subscribed
from tests.server.whole_app import OPERATOR

RED = {"project_key": PROJECT, "agent_name": "RedStone"}
INBOX = "resource://inbox/RedStone"
_ELSEWHERE = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], timeout=30)
with connection:
    connection.executescript(sys.argv[2])
"""


@dataclass
class Silent:
    """RedStone, by its token: a stream of events, a call that waits, and a subscription to its inbox."""

    stream: Reading
    waiting: asyncio.Task[httpx.Response]

    async def wait_refused(self) -> tuple[int, str]:
        async with asyncio.timeout(10):
            answer = await self.waiting
        return answer.status_code, answer.json()["error"]["type"]


async def elsewhere(served: Served, script: str) -> None:
    """By a process of its own."""
    command = [sys.executable, "-c", _ELSEWHERE, str(served.store.path), script]
    await asyncio.to_thread(subprocess.run, command, check=True, timeout=60)


async def look(served: Served) -> None:
    await served.services.workers.shared_look.look()


@asynccontextmanager
async def session_stream(
    served: Served, headers: dict[str, str], *, had_one: bool = False
) -> AsyncIterator[asyncio.Task[None]]:
    """The stream that a session of the handshake era opens by `GET`, without a subscription; `had_one`: any more. The
    task ends with it.
    """
    told = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2025-11-25", **headers}
    started = asyncio.Event()

    async def ask(method: str, params: dict[str, Any]) -> httpx.Response:
        body = {"jsonrpc": "2.0", "id": method, "method": method, "params": params}
        answer = await served.client.post("/mcp", json=body, headers=told)
        assert "error" not in answer.text, answer.text
        return answer

    async def follow() -> None:
        async with served.client.stream("GET", "/mcp", headers=told, timeout=None) as answer:
            assert answer.status_code == 200
            started.set()
            async for _ in answer.aiter_raw():
                pass

    client = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
    told["mcp-session-id"] = (await ask("initialize", client)).headers["mcp-session-id"]
    task = asyncio.create_task(follow())
    try:
        async with asyncio.timeout(10):
            await started.wait()
        if had_one:
            await ask("resources/subscribe", {"uri": INBOX})
            await ask("resources/unsubscribe", {"uri": INBOX})
        assert served.streams == 0
        await until_trusted(served)
        yield task
    finally:
        task.cancel()
        await asyncio.wait([task])


async def until_trusted(served: Served) -> None:
    """Until the streams that hang on RedStone have been asked whatever they were doubted for."""
    red, waiters = await red_id(served), served.services.delivery.waiters
    async with asyncio.timeout(10):
        while any(one._doubted for one in waiters.followers()[red]):  # noqa: ASYNC110  # nobody tells a test
            await asyncio.sleep(0.005)


@asynccontextmanager
async def silent(served: Served) -> AsyncIterator[Silent]:
    token = served.tokens["RedStone"]
    url, headers = str(served.client.base_url).rstrip("/"), {"X-Agent-Token": token}
    async with subscribed(url, MODERN, [INBOX], headers), reading(served, token=token) as stream:
        await stream.block()
        asked = served.client.post("/rpc/wait_for_messages", json={**ME, "timeout_s": 50}, headers=headers, timeout=60)
        waiting = asyncio.create_task(asked)
        await served.until_waiting(waits=1, streams=2)
        yield Silent(stream, waiting)


def by_operator(tool: str, arguments: dict[str, str]) -> Callable[[Served], Awaitable[Any]]:
    """As `am` does it: it asks the server that runs."""

    async def call(served: Served) -> None:
        bearer = {"Authorization": f"Bearer {OPERATOR}"}
        answer = await served.client.post(f"/rpc/{tool}", json=arguments, headers=bearer)
        assert answer.status_code == 200, answer.text

    return call


def by_another_process(script: str) -> Callable[[Served], Awaitable[Any]]:
    async def run(served: Served) -> None:
        await look(served)
        await until_trusted(served)
        await elsewhere(served, script)
        assert not any(one.is_changed for one in served.services.delivery.waiters.of(await red_id(served)))
        await look(served)

    return run


async def red_id(served: Served) -> Any:
    with closing(sqlite3.connect(served.store.path)) as connection:
        return connection.execute("SELECT id FROM agents WHERE name = 'RedStone'").fetchone()[0]


REFUSED = (403, "PERMISSION_DENIED")
GONE = (409, "CONFLICT")


TAKEN_BACK = [
    pytest.param(by_operator("reissue_token", RED), REFUSED, id="token"),
    pytest.param(by_operator("deregister_agent", RED), GONE, id="retired"),
    pytest.param(by_operator("archive_project", {"project_key": PROJECT}), GONE, id="archived"),
    pytest.param(
        by_another_process("UPDATE agents SET token_hash = x'00' WHERE name = 'RedStone'"),
        REFUSED,
        id="token elsewhere",
    ),
    pytest.param(
        by_another_process("UPDATE agents SET retired_ts = 1 WHERE name = 'RedStone'"), GONE, id="retired elsewhere"
    ),
    pytest.param(by_another_process("UPDATE projects SET archived_ts = 1"), GONE, id="archived elsewhere"),
]


@pytest.mark.parametrize(("take_back", "refusal"), TAKEN_BACK)
async def test_a_stream_a_wait_and_a_subscription_end_with_the_rights_of_their_agent(
    tmp_path: Path, take_back: Callable[[Served], Awaitable[Any]], refusal: tuple[int, str]
) -> None:
    async with serving(tmp_path) as served, silent(served) as waiters:
        await take_back(served)

        assert await waiters.wait_refused() == refusal
        assert await waiters.stream.ended()
        await served.until_waiting()


async def test_a_feed_entry_of_another_process_reaches_a_silent_stream_by_the_next_look(tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        message = await served.send()
        async with reading(served) as stream:
            await stream.block()
            await elsewhere(
                served,
                f"""
                UPDATE counters SET value = value + 1 WHERE name = 'delivery';
                INSERT INTO feed (cursor, agent_id, event, message_id, ts)
                SELECT value, (SELECT id FROM agents WHERE name = 'RedStone'), 'withdrawn', {message}, 1
                FROM counters WHERE name = 'delivery';
                """,
            )
            await look(served)
            block = await stream.block()

    assert (block["event"], f'"message_id":{message}' in block["data"]) == ("withdrawn", True)


async def test_what_happens_to_others_ends_and_wakes_nobody(tmp_path: Path) -> None:
    async with serving(tmp_path) as served, silent(served) as waiters:
        await by_operator("deregister_agent", {"project_key": PROJECT, "agent_name": "BlueLake"})(served)
        await look(served)
        red = await red_id(served)

        assert [one.is_changed for one in served.services.delivery.waiters.of(red)] == [False, False]
        served.services.wake()
        await waiters.waiting


@pytest.mark.parametrize("had_one", [False, True], ids=["before its first subscription", "after its last"])
@pytest.mark.parametrize(("take_back", "_refusal"), TAKEN_BACK)
async def test_the_stream_of_a_session_without_a_subscription_ends_with_the_rights_of_its_agent(
    tmp_path: Path, take_back: Callable[[Served], Awaitable[Any]], _refusal: object, had_one: bool
) -> None:
    async with serving(tmp_path) as served:
        headers = {"X-Agent-Token": served.tokens["RedStone"]}
        async with session_stream(served, headers, had_one=had_one) as stream:
            await take_back(served)

            async with asyncio.timeout(10):
                await stream
            assert served.services.delivery.waiters.followers() == {}


async def test_a_stream_that_fails_ends_and_keeps_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Open and silent, it would keep its place, and its agent listening."""

    async def failing(_reader: object, _holder: object) -> None:
        raise RuntimeError("a bug")

    async with serving(tmp_path) as served:
        headers = {"X-Agent-Token": served.tokens["RedStone"]}
        async with session_stream(served, headers) as stream:
            served.services.subscriptions.readers.require = failing  # type: ignore[method-assign, assignment]  # a bug
            await by_operator("reissue_token", RED)(served)

            async with asyncio.timeout(10):
                await stream
            assert served.services.delivery.waiters.followers() == {}
    assert "a stream of resource updates failed" in [record.message for record in caplog.records]


async def test_a_stream_opened_with_a_join_code_beside_the_token_ends_with_the_code(tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        served.services.subscriptions.identify_every_s = 0.01
        bearer = {"Authorization": f"Bearer {OPERATOR}"}
        given = await served.client.post("/rpc/create_join_code", json={"project_key": PROJECT}, headers=bearer)
        code = given.json()["join_code"]
        headers = {"Authorization": f"Bearer {served.tokens['RedStone']}", "X-Agent-Token": code}
        async with session_stream(served, headers) as stream:
            await look(served)
            await until_trusted(served)
            await elsewhere(served, "UPDATE join_codes SET expires_ts = 1")

            async with asyncio.timeout(10):
                await stream

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
        await elsewhere(served, script)
        assert not served.services.delivery.waiters.of(await red_id(served))[0].is_changed
        await look(served)

    return run


async def red_id(served: Served) -> Any:
    with closing(sqlite3.connect(served.store.path)) as connection:
        return connection.execute("SELECT id FROM agents WHERE name = 'RedStone'").fetchone()[0]


REFUSED = (403, "PERMISSION_DENIED")
GONE = (409, "CONFLICT")


@pytest.mark.parametrize(
    ("take_back", "refusal"),
    [
        (by_operator("reissue_token", RED), REFUSED),
        (by_operator("deregister_agent", RED), GONE),
        (by_operator("archive_project", {"project_key": PROJECT}), GONE),
        (by_another_process("UPDATE agents SET token_hash = x'00' WHERE name = 'RedStone'"), REFUSED),
        (by_another_process("UPDATE agents SET retired_ts = 1 WHERE name = 'RedStone'"), GONE),
        (by_another_process("UPDATE projects SET archived_ts = 1"), GONE),
    ],
    ids=["token", "retired", "archived", "token elsewhere", "retired elsewhere", "archived elsewhere"],
)
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

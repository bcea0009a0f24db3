"""The official MCP client, in both eras, waits for mail at a server process: how its leaving and a stop are felt."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from subprocess import Popen
from typing import Any

import pytest
from mcp import Client
from mcp_types import CallToolResult

from tests.served import Connection, Served, pause

PROJECT = "/srv/shop"
ME = {"project_key": PROJECT, "agent_name": "RedStone"}
LONG = {**ME, "timeout_s": 50}
NOTICED_WITHIN_S = 25
"""Half of what a call waits whose client stays: this tells one from the other on the slowest machine."""
ERAS = pytest.mark.parametrize("mode", ["legacy", "2026-07-28"], ids=["handshake", "modern"])
WAITS = """
import asyncio, sys
from mcp import Client
async def main(url, mode, arguments):
    async with Client(url, mode=mode) as client:
        await client.call_tool("wait_for_messages", arguments)
asyncio.run(main(sys.argv[1], sys.argv[2], {"project_key": sys.argv[3], "agent_name": "RedStone", "timeout_s": 50}))
"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Served]:
    with Served(tmp_path / "store") as server:
        with server.connect() as connection:
            connection.call("ensure_project", human_key=PROJECT)
            for name in ("BlueLake", "RedStone"):
                connection.call("register_agent", project_key=PROJECT, program="p", model="m", name=name)
        yield server


def listening(connection: Connection) -> tuple[int, bool, str | None]:
    """How many calls wait, and what anybody is told of RedStone."""
    agent = connection.call("whois", **ME)
    waits = connection.call("health_check")["delivery"]["waits"]
    return waits, agent["listening"], agent["listening_via"]


def until(connection: Connection, expected: tuple[int, bool, str | None]) -> None:
    deadline = time.monotonic() + NOTICED_WITHIN_S
    while (seen := listening(connection)) != expected:
        assert time.monotonic() < deadline, seen
        pause()


async def waits(server: Served, mode: str) -> CallToolResult:
    async with Client(f"http://127.0.0.1:{server.port}/mcp", mode=mode) as client:
        return await client.call_tool("wait_for_messages", dict(LONG))


@asynccontextmanager
async def waiting(server: Served, *modes: str) -> AsyncIterator[list[asyncio.Task[CallToolResult]]]:
    """A client of each of these eras, all of which wait by now."""
    tasks = [asyncio.create_task(waits(server, mode)) for mode in modes]
    with server.connect() as connection:
        await asyncio.to_thread(until, connection, (len(modes), True, "wait"))
    try:
        yield tasks
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@ERAS
async def test_a_send_answers_who_waits(server: Served, mode: str) -> None:
    async with waiting(server, mode) as (task,):
        with server.connect() as connection:
            sent = connection.call(
                "send_message", project_key=PROJECT, sender_name="BlueLake", to=["RedStone"], subject="s", body_md="b"
            )
        answer = (await task).structured_content

    assert answer is not None
    assert [item["id"] for item in answer["messages"]] == [sent["deliveries"][0]["payload"]["id"]]


@ERAS
def test_a_client_that_is_killed_listens_no_more_and_its_place_is_free(server: Served, mode: str) -> None:
    with server.connect() as connection:
        url = f"http://127.0.0.1:{server.port}/mcp"
        with Popen([sys.executable, "-c", WAITS, url, mode, PROJECT]) as client:
            try:
                until(connection, (1, True, "wait"))
            finally:
                client.kill()

        until(connection, (0, False, None))


@ERAS
async def test_a_client_that_takes_its_call_back_and_leaves_listens_no_more(server: Served, mode: str) -> None:
    with server.connect() as connection:
        async with waiting(server, mode) as (task,):
            task.cancel()

            await asyncio.to_thread(until, connection, (0, False, None))


async def test_a_stop_answers_all_who_wait_before_it_waits_for_anything(server: Served) -> None:
    """Each answer comes whole, over a connection that is still there."""
    async with waiting(server, "legacy", "2026-07-28", "legacy", "2026-07-28") as tasks:
        await asyncio.to_thread(server.stop)
        answers = [await task for task in tasks]

    assert {answer.is_error for answer in answers} == {True}
    assert {_type_of(answer) for answer in answers} == {"UNAVAILABLE"}


def _type_of(answer: CallToolResult) -> Any:
    assert answer.structured_content is not None, answer
    return answer.structured_content["error"]["type"]

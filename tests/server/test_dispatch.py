"""One way to run a tool: whose call it is."""

from __future__ import annotations

import asyncio

import pytest

from mcp_agent_mail.core.profiles import CUSTOM
from mcp_agent_mail.core.resources import ResourceTable
from mcp_agent_mail.core.tools import Credentials, Json, ToolTable, current_turn, tool
from mcp_agent_mail.server.dispatch import Calls, RequestFacts


def _by(connection: str) -> RequestFacts:
    return RequestFacts(credentials=Credentials(via="mcp", origin=connection), request_id=connection)


@pytest.mark.parametrize("argument", ["registration_token", "sender_token"])
async def test_a_long_call_is_in_the_line_of_the_token_among_its_arguments(argument: str) -> None:
    may_end, running = asyncio.Event(), list[str]()

    async def install() -> Json:
        """Wait."""
        running.append(current_turn())
        await may_end.wait()
        return {}

    calls = Calls(ToolTable([tool(install, cluster="toys", title="Install", is_long=True)]), ResourceTable([]))
    async with asyncio.TaskGroup() as tasks:
        for number in range(4):
            tasks.create_task(calls.run_tool("install", {argument: "amt_many"}, _by(f"{number}")))
        tasks.create_task(calls.run_tool("install", {argument: "amt_one"}, _by("0")))
        for _ in range(20):
            await asyncio.sleep(0)
        begun = sorted(running)
        may_end.set()

    assert begun == ["token amt_many", "token amt_many", "token amt_one"]
    assert len(running) == 5


async def test_long_calls_of_two_tables_take_turns_together() -> None:
    may_end, running = asyncio.Event(), list[str]()

    async def install() -> Json:
        """Wait."""
        running.append(current_turn())
        await may_end.wait()
        return {}

    table = ToolTable([tool(install, cluster="toys", title="Install", is_long=True)])
    calls = Calls(table, ResourceTable([]))
    other = calls.beside(table, ResourceTable([]))
    async with asyncio.TaskGroup() as tasks:
        for one in (calls, other, calls, other):
            tasks.create_task(one.run_tool("install", {}, _by("one")))
        for _ in range(20):
            await asyncio.sleep(0)
        begun = len(running)
        may_end.set()

    assert begun == 2
    assert len(running) == 4


async def test_a_long_call_that_a_custom_tool_makes_takes_its_turn_in_its_callers_line() -> None:
    may_end, running = asyncio.Event(), list[str]()

    async def install() -> Json:
        """Wait."""
        running.append(current_turn())
        await may_end.wait()
        return {}

    async def relay() -> Json:
        """Install."""
        return await calls.run_within("install", {})

    specs = [
        tool(install, cluster="toys", title="Install", is_long=True),
        tool(relay, cluster=CUSTOM, title="Relay"),
    ]
    calls = Calls(ToolTable(specs), ResourceTable([]))
    async with asyncio.TaskGroup() as tasks:
        for caller in ("one", "one", "one", "two"):
            tasks.create_task(calls.run_tool("relay", {}, _by(caller)))
        for _ in range(20):
            await asyncio.sleep(0)
        begun = sorted(running)
        may_end.set()

    assert begun == ["connection one", "connection one", "connection two"]
    assert len(running) == 4

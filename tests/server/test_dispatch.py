"""One way to run a tool: whose call it is, what its role lets it do, and what it counts as."""

from __future__ import annotations

import asyncio
from typing import Annotated, Literal

import pytest

from mcp_agent_mail.core.errors import NotFound, RateLimited
from mcp_agent_mail.core.params import Flag
from mcp_agent_mail.core.resources import ResourceTable
from mcp_agent_mail.core.roles import BeyondRole, Role
from mcp_agent_mail.core.tools import Credentials, Json, ToolTable, current_turn, tool
from mcp_agent_mail.server.dispatch import Calls, RequestFacts, changes
from mcp_agent_mail.server.edge.rates import RateClass


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


async def look(mark_read: Annotated[bool, Flag(writes=True)] = False, deep: Annotated[bool, Flag()] = False) -> Json:
    """Look."""
    return {"mark_read": mark_read, "deep": deep}


async def write() -> Json:
    """Write."""
    return {}


async def rule() -> Json:
    """Rule."""
    return {}


async def install() -> Json:
    """Install."""
    return {}


TABLE = ToolTable(
    [
        tool(look, cluster="toys", title="Look", read_only=True),
        tool(write, cluster="toys", title="Write"),
        tool(rule, cluster="toys", title="Rule", read_only=True, operator_only=True),
        tool(install, cluster="toys", title="Install", off_mcp=True),
    ]
)


async def _outcome(
    role: Role, name: str, arguments: dict[str, Json] | None = None, *, via: Literal["mcp", "rpc"] = "rpc"
) -> str:
    """`ok`, what is held and needed, or the kind of error."""
    facts = RequestFacts(credentials=Credentials(via=via, role=role), request_id="1")
    try:
        await Calls(TABLE, ResourceTable([])).run_tool(name, arguments or {}, facts)
    except BeyondRole as refused:
        return f"{refused.data['held']} is no {refused.data['needed']}"
    except NotFound as missing:
        return type(missing).__name__
    return "ok"


@pytest.mark.parametrize(
    ("name", "arguments", "outcomes"),
    [
        ("look", {}, ["ok", "ok", "ok"]),
        ("look", {"deep": True}, ["ok", "ok", "ok"]),
        ("look", {"mark_read": False}, ["ok", "ok", "ok"]),
        ("look", {"mark_read": True}, ["reader is no writer", "ok", "ok"]),
        ("look", {"mark_read": "true"}, ["reader is no writer", "ok", "ok"]),
        ("write", {}, ["reader is no writer", "ok", "ok"]),
        ("rule", {}, ["reader is no operator", "writer is no operator", "ok"]),
        ("nothing", {}, ["UnknownTool"] * 3),
    ],
)
async def test_a_role_may_what_the_tools_annotations_and_the_arguments_that_write_say(
    name: str, arguments: dict[str, Json], outcomes: list[str]
) -> None:
    assert [await _outcome(role, name, arguments) for role in Role] == outcomes


@pytest.mark.parametrize("name", ["rule", "install"])
async def test_over_mcp_tools_that_are_not_there_are_unknown_to_every_role(name: str) -> None:
    assert [await _outcome(role, name, via="mcp") for role in Role] == ["UnknownTool"] * 3


async def test_over_mcp_a_role_means_what_it_means_elsewhere() -> None:
    assert await _outcome(Role.READER, "write", via="mcp") == "reader is no writer"


def test_whether_a_call_changes_anything_is_asked_of_what_the_tool_is_given() -> None:
    spec = TABLE.find("look")
    assert spec is not None

    given: list[Json] = [True, "true", "TRUE", False, "false", None, "nonsense", 7]
    assert [changes(spec, {"mark_read": value}) for value in given] == [True, True, True, *[False] * 5]
    assert changes(spec, {"deep": True, "stranger": True}) is False


async def test_each_call_and_read_is_charged_once_and_refused_before_it_runs() -> None:
    charged: list[RateClass] = []

    def charge(one: RateClass) -> None:
        charged.append(one)
        if len(charged) > 2:
            raise RateLimited("Too many.", data={"retry_after_s": 1.0})

    calls = Calls(TABLE, ResourceTable([]))
    facts = RequestFacts(credentials=Credentials(via="rpc", role=Role.READER), request_id="1", charge=charge)

    await calls.run_tool("look", {}, facts)
    with pytest.raises(NotFound):
        await calls.read_resource("resource://nothing", facts)
    with pytest.raises(RateLimited):
        await calls.run_tool("write", {}, facts)

    assert charged == [RateClass.TOOLS, RateClass.RESOURCES, RateClass.TOOLS]

"""One way to run a tool: whose call it is, and how many are at work, whichever way they come."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Annotated, Any, Literal

import httpx
import pytest

from mcp_agent_mail.core.concurrency.call_places import CallPlaces
from mcp_agent_mail.core.errors import NotFound, RateLimited
from mcp_agent_mail.core.ids import token_hash
from mcp_agent_mail.core.params import Flag
from mcp_agent_mail.core.profiles import CUSTOM
from mcp_agent_mail.core.resources import ResourceTable
from mcp_agent_mail.core.roles import BeyondRole, Role
from mcp_agent_mail.core.tools import Credentials, Json, ToolTable, current_turn, tool
from mcp_agent_mail.domain.identity.issued_tokens import NewIssuedToken
from mcp_agent_mail.features.issued_tokens.book import IssuedTokenBook
from mcp_agent_mail.server.dispatch import Calls, RequestFacts, changes
from mcp_agent_mail.server.edge.bearers import BearerRules, Bearers
from mcp_agent_mail.server.edge.edge import Edge
from mcp_agent_mail.server.edge.gate import Gate
from mcp_agent_mail.server.edge.rates import RateClass
from tests.seeded_store import open_seeded_store
from tests.server.hosted import hosted, toy_app
from tests.server.served_mail import ME, Served, serving
from tests.server.test_mcp import JSON_HEADERS

LONG = {**ME, "timeout_s": 50}
FULL = {"at_work": 1, "limit": 1, "retry_after_s": 1}


def _by(connection: str) -> RequestFacts:
    return RequestFacts(credentials=Credentials(via="mcp", origin=connection), request_id=connection, opener=None)


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


class Toys:
    """A tool that is at work until it may end."""

    def __init__(self) -> None:
        self.begun, self.may_end = asyncio.Event(), asyncio.Event()
        self.tool = tool(self._work, cluster="toys", title="Work")

    async def _work(self) -> Json:
        """Work."""
        self.begun.set()
        await self.may_end.wait()
        return {"worked": True}


async def test_a_full_house_is_unavailable_in_each_way_and_says_when_to_come_again() -> None:
    toys = Toys()
    app = toy_app(more_tools=(toys.tool,), places=CallPlaces(1))
    async with hosted(app) as url, httpx.AsyncClient(base_url=url, headers=JSON_HEADERS, timeout=60) as client:
        working = asyncio.create_task(client.post("/rpc/_work", json={}))
        await toys.begun.wait()

        by_rpc = await client.post("/rpc/count", json={})
        read = await client.post("/rpc/read_resource", json={"uri": "resource://toys"})
        by_mcp = await _over_mcp(client, "tools/call", {"name": "count", "arguments": {}})
        read_by_mcp = await _over_mcp(client, "resources/read", {"uri": "resource://toys"})
        alive = await client.get("/health/liveness")
        toys.may_end.set()
        worked = await working
        after = await client.post("/rpc/count", json={})

    for refused in (by_rpc, read):
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
        assert (refused.json()["error"]["type"], refused.json()["error"]["data"]) == ("UNAVAILABLE", FULL)
    assert by_mcp["result"]["isError"]
    assert by_mcp["result"]["structuredContent"]["error"]["data"] == FULL
    assert read_by_mcp["error"]["data"]["error"]["data"] == FULL
    assert (alive.status_code, worked.json(), after.status_code) == (200, {"worked": True}, 200)


async def test_places_beside_the_others_are_the_operators_own_tokens_whoever_has_been_issued_the_role(
    tmp_path: Path,
) -> None:
    toys, issued, own = Toys(), "amk_issued-to-a-flooder", "amo_the-operators-own"
    async with open_seeded_store(tmp_path) as seeded:
        book = IssuedTokenBook(seeded.store, clock=seeded.clock)
        new = NewIssuedToken(token_hash=token_hash(issued), role=Role.OPERATOR, agent_id=None, note="", expires_ts=None)
        await seeded.store.write(lambda tx: tx.issued_tokens.add(new, tx.now))
        edge = Edge(Gate(allowed_hosts=(), bearers=Bearers(BearerRules(operator_token=own), tokens=book)))
        app = toy_app(edge, more_tools=(toys.tool,), places=CallPlaces(1))
        async with hosted(app) as url, httpx.AsyncClient(base_url=url, headers=JSON_HEADERS, timeout=60) as client:
            working = asyncio.create_task(client.post("/rpc/_work", json={}))
            await toys.begun.wait()

            outcomes = []
            for token in (issued, own):
                client.headers["authorization"] = f"Bearer {token}"
                called = await client.post("/rpc/count", json={})
                read = await client.post("/rpc/read_resource", json={"uri": "resource://toys"})
                by_mcp = await _over_mcp(client, "tools/call", {"name": "count", "arguments": {}})
                outcomes.append((called.status_code, read.status_code, bool(by_mcp["result"].get("isError"))))
            toys.may_end.set()
            await working
        await book.close()

    assert outcomes == [(503, 503, True), (200, 200, False)]


async def _over_mcp(client: httpx.AsyncClient, method: str, params: dict[str, Any]) -> Any:
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return (await client.post("/mcp", json=message)).json()


async def test_waits_for_mail_take_no_places(tmp_path: Path) -> None:
    async with serving(tmp_path, HTTP_MAX_CALLS="8") as served:
        waits = [asyncio.create_task(served.call("wait_for_messages", **LONG)) for _ in range(10)]
        await served.until_waiting(waits=10)

        message = await served.send()

        assert [one["messages"][0]["id"] for one in await asyncio.gather(*waits)] == [message] * 10


async def test_waits_for_leases_take_no_places(tmp_path: Path) -> None:
    async with serving(tmp_path, HTTP_MAX_CALLS="8") as served:
        wish = {"agent_name": "RedStone", "paths": ["a.py"]}
        (held,) = (await served.call("file_reservation_paths", **{**wish, "agent_name": "BlueLake"}))["granted"]
        waits = [asyncio.create_task(served.call("file_reservation_paths", **wish, wait_seconds=50)) for _ in range(10)]
        await _until_in_line(served, 10)

        await served.call("release_file_reservations", agent_name="BlueLake", paths=["a.py"])
        granted = await asyncio.gather(*waits)

    assert held["path_pattern"] == "a.py"
    assert [one["granted"][0]["path_pattern"] for one in granted] == ["a.py"] * 10


async def _until_in_line(served: Served, count: int) -> None:
    queue = served.services.leases.reservations._reserver._queue
    async with asyncio.timeout(10):
        while len(queue) != count:  # noqa: ASYNC110  # nobody tells a test
            await asyncio.sleep(0.005)


async def test_a_full_queue_of_the_writer_is_unavailable_and_says_when_to_come_again(tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        may_go_on, has_begun = threading.Event(), threading.Event()
        writer = served.store._writer
        writer._max_pending = 1  # instead of 2,000

        def hold(_: object) -> None:
            has_begun.set()
            may_go_on.wait()

        held = asyncio.create_task(writer.write(hold))
        await asyncio.to_thread(has_begun.wait)
        queued = asyncio.create_task(writer.write(lambda _: None))
        await asyncio.sleep(0)
        letter = {"project_key": "/code/app", "sender_name": "BlueLake", "to": ["RedStone"], "subject": "s"}
        try:
            refused = await served.client.post("/rpc/send_message", json={**letter, "body_md": "b"})
        finally:
            may_go_on.set()
            await asyncio.gather(held, queued)
        sent = await served.client.post("/rpc/send_message", json={**letter, "body_md": "b"})

    error = refused.json()["error"]
    assert (refused.status_code, refused.headers["retry-after"], error["type"]) == (503, "1", "UNAVAILABLE")
    assert (error["data"]["retry_after_s"], sent.status_code) == (1, 200)


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
    facts = RequestFacts(credentials=Credentials(via=via, role=role), request_id="1", opener=None)
    try:
        await Calls(TABLE, ResourceTable([])).run_tool(name, arguments or {}, facts)
    except BeyondRole as refused:
        return f"{refused.data['held']} is no {refused.data['needed']}"
    except NotFound as missing:
        return type(missing).__name__
    return "ok"


async def test_an_argument_that_writes_is_what_needs_the_role_and_the_rest_is_still_to_be_had() -> None:
    facts = RequestFacts(credentials=Credentials(via="rpc", role=Role.READER), request_id="1", opener=None)

    with pytest.raises(BeyondRole) as refused:
        await Calls(TABLE, ResourceTable([])).run_tool("look", {"mark_read": True}, facts)
    with pytest.raises(BeyondRole) as whole:
        await Calls(TABLE, ResourceTable([])).run_tool("write", {}, facts)

    assert refused.value.message.startswith("look(mark_read=true) needs the role writer")
    assert refused.value.hint.startswith("Without mark_read=true it is answered. The operator gives")
    assert whole.value.message.startswith("write needs the role writer")
    assert whole.value.hint.startswith("The operator gives")


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
    facts = RequestFacts(
        credentials=Credentials(via="rpc", role=Role.READER), request_id="1", opener=None, charge=charge
    )

    await calls.run_tool("look", {}, facts)
    with pytest.raises(NotFound):
        await calls.read_resource("resource://nothing", facts)
    with pytest.raises(RateLimited):
        await calls.run_tool("write", {}, facts)

    assert charged == [RateClass.TOOLS, RateClass.RESOURCES, RateClass.TOOLS]

"""stdio-only clients share the one server: found, started when there is none, found again after a restart."""

from __future__ import annotations

import asyncio
import io
import json
import signal
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import fastmcp
import pytest
from fastmcp.client.transports import StdioTransport
from mcp.client.session import ClientSession
from mcp.client.stdio import StdioServerParameters, stdio_client

from mcp_agent_mail.cli.stdio import proxy as proxy_module
from mcp_agent_mail.cli.stdio.proxy import Proxy
from tests.cli.command_line import am, modules_after
from tests.cli.scripted_server import ScriptedServer, events
from tests.cli.stdio.test_upstream import ask, upstream_of
from tests.cli.stdio_clients import COMMAND, Household
from tests.served import Served, pause

PROJECT = "/srv/shop"
TOKEN = "a-token-of-good-length"
MODERN_META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


@pytest.fixture
def household(tmp_path: Path) -> Iterator[Household]:
    with Household(tmp_path) as household:
        yield household


async def _call(session: ClientSession, tool: str, **arguments: Any) -> Any:
    result = await session.call_tool(tool, arguments)
    assert not result.is_error, result.content
    return result.structured_content


async def _writer_of(session: ClientSession) -> int:
    return int((await _call(session, "health_check"))["store"]["owner_pid"])


@dataclass(slots=True)
class _Meeting:
    """What eight agents do at once: register, wait for the restart, send. Notes who wrote for each of them."""

    household: Household
    registered: asyncio.Barrier = field(default_factory=lambda: asyncio.Barrier(9))
    restarted: asyncio.Event = field(default_factory=asyncio.Event)
    writers_before: set[int] = field(default_factory=set)
    writers_after: set[int] = field(default_factory=set)

    async def attend(self, name: str) -> None:
        parameters = StdioServerParameters(
            command=COMMAND[0], args=COMMAND[1:], env=self.household.environment, cwd=self.household.home
        )
        async with stdio_client(parameters) as streams, ClientSession(*streams) as session:
            await session.initialize()
            await _call(session, "ensure_project", human_key=PROJECT)
            await _call(session, "register_agent", project_key=PROJECT, name=name, program="tester", model="scripted")
            self.writers_before.add(await _writer_of(session))
            await self.registered.wait()
            await self.restarted.wait()
            await _call(
                session,
                "send_message",
                project_key=PROJECT,
                sender_name=name,
                to=["Agent0"],
                subject=name,
                body_md="Here.",
            )
            self.writers_after.add(await _writer_of(session))


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGKILL])
async def test_eight_clients_at_once_share_one_server_and_survive_its_restart(
    household: Household, stop: signal.Signals
) -> None:
    meeting = _Meeting(household)
    names = [f"Agent{number}" for number in range(8)]
    async with asyncio.TaskGroup() as agents:
        for name in names:
            agents.create_task(meeting.attend(name))
        await meeting.registered.wait()
        await asyncio.to_thread(household.stop_server, stop)
        meeting.restarted.set()
    with household.client() as client:
        client.open()
        inbox = client.tool("fetch_inbox", project_key=PROJECT, agent_name="Agent0")["result"]

    assert len(meeting.writers_before) == len(meeting.writers_after) == 1
    assert meeting.writers_after == {household.server_pid()} != meeting.writers_before
    assert {message["subject"] for message in inbox} == set(names)


async def test_the_stateless_era_goes_through(household: Household) -> None:
    transport = StdioTransport(COMMAND[0], COMMAND[1:], env=household.environment, cwd=str(household.home))
    async with fastmcp.Client(transport) as client:
        tools = await client.list_tools()
        await client.call_tool("ensure_project", {"human_key": PROJECT})
        (read,) = await client.read_resource("resource://projects")

    assert {"send_message", "fetch_inbox"} <= {tool.name for tool in tools}
    assert PROJECT in read.text


def test_a_message_of_the_stateless_era_gets_the_headers_that_http_wants(household: Household) -> None:
    with household.client() as client:
        told = client.ask("server/discover", _meta=MODERN_META)
        client.ask("tools/call", name="ensure_project", arguments={"human_key": "/srv/ü"}, _meta=MODERN_META)
        read = client.ask("resources/read", uri="resource://project/%2Fsrv%2F\u00fc", _meta=MODERN_META)

    assert told["result"]["supportedVersions"] == ["2026-07-28"]
    assert json.loads(read["result"]["contents"][0]["text"])["human_key"] == "/srv/ü"


def test_it_ends_with_its_input_and_the_server_goes_on(household: Household) -> None:
    with household.client() as client:
        client.open()
        code, out, errors = client.finish()

    assert (code, out) == (0, b"")
    assert f"process {household.server_pid()}, log {household.root / 'server.log'}" in errors
    assert "serves http://127.0.0.1:" in (household.root / "server.log").read_text()


def test_what_is_no_message_is_refused_and_the_next_one_answered(household: Household) -> None:
    with household.client() as client:
        client.write(b"{\n[]\n\n" + b"[" * 100_000 + b"\n")
        refused = [client.read() for _ in range(3)]
        client.write(
            b'{"jsonrpc":"2.0","id":"big","method":"ping","params":{"x":"' + b"a" * (5 * 1024 * 1024) + b'"}}\n'
        )
        too_long = client.read()
        alive = client.open()

    assert [answer["error"]["code"] for answer in [*refused, too_long]] == [-32700, -32600, -32700, -32600]
    assert alive["result"]["serverInfo"]["name"] == "mcp-agent-mail"


def test_a_message_over_the_servers_limit_is_refused_to_who_sent_it(household: Household) -> None:
    with household.client() as client:
        client.open()
        answer = client.ask("tools/call", name="ensure_project", arguments={"human_key": "a" * (4 * 1024 * 1024)})

    assert "4 MiB" in answer["error"]["message"]


def test_a_named_server_is_used_with_its_token_and_none_is_started(tmp_path: Path) -> None:
    home = tmp_path / "client"
    home.mkdir()
    with Served(tmp_path / "store", HTTP_BEARER_TOKEN=TOKEN) as server, Household(home) as household:
        url = f"http://127.0.0.1:{server.port}"
        with household.client(AGENT_MAIL_URL=url) as client:
            refused = client.ask("initialize")
        with household.client(AGENT_MAIL_URL=f"{url}/mcp", AGENT_MAIL_TOKEN=TOKEN) as client:
            client.open()
            owner = client.tool("health_check")["store"]["owner_pid"]
        expected = server.pid

    assert "AGENT_MAIL_TOKEN" in refused["error"]["message"]
    assert owner == expected
    assert not household.root.exists()


def test_it_says_which_window_it_is_in_and_a_servers_own_window_counts_for_nothing(tmp_path: Path) -> None:
    windows = [f"00000000-0000-4000-8000-00000000000{number}" for number in range(3)]
    profile = {"project_key": PROJECT, "program": "tests", "model": "none"}
    with (
        Served(tmp_path / "store", MCP_AGENT_MAIL_WINDOW_ID=windows[0]) as server,
        Household(tmp_path) as household,
    ):
        url = f"http://127.0.0.1:{server.port}"
        came = []
        for window in (windows[1], windows[1].upper(), ""):
            with household.client(AGENT_MAIL_URL=url, MCP_AGENT_MAIL_WINDOW_ID=window) as client:
                client.open()
                client.tool("ensure_project", human_key=PROJECT)
                came.append(client.tool("register_agent", **profile))
        with household.client(AGENT_MAIL_URL=url) as client:
            client.open()
            known = client.tool("list_window_identities", project_key=PROJECT)["identities"]

    assert [agent.get("window_id") for agent in came] == [windows[1], windows[1], None]
    assert came[0]["id"] == came[1]["id"] != came[2]["id"]
    assert [window["display_name"] for window in known] == [came[0]["window_display_name"]]
    assert [window["window_uuid"] for window in known] == [None], "the last client is in no window"


def test_the_env_file_of_the_repository_it_stands_in_is_not_read(household: Household, tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    repository.mkdir()
    (repository / ".env").write_text("STORAGE_ROOT=./mine\nHTTP_BEARER_TOKEN=x\nAGENT_AUTH=strict\n")
    with household.client(cwd=repository) as client:
        answer = client.open()

    assert "result" in answer
    assert household.server_pid() is not None
    assert not (repository / "mine").exists()


def test_a_server_that_cannot_start_is_told_with_its_own_words(tmp_path: Path) -> None:
    with Served(tmp_path / "other") as other, Household(tmp_path / "home") as household:
        household.home.mkdir()
        with household.client(HTTP_PORT=str(other.port)) as client:
            answer = client.ask("initialize")
        taken = f"127.0.0.1:{other.port} is taken by process {other.pid}"

    assert taken in answer["error"]["message"]


def test_a_folder_that_cannot_be_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with Household(tmp_path) as household, household.client(STORAGE_ROOT=str(tmp_path / "file" / "store")) as client:
        answer = client.ask("initialize")

    assert "file/store" in answer["error"]["message"]


def test_mistakes_in_its_settings_end_it_before_anything_is_opened(tmp_path: Path) -> None:
    done = am("serve", "--stdio", home=tmp_path, AGENT_MAIL_URL="nonsense")

    assert done.returncode == 78
    assert list(tmp_path.iterdir()) == []


def test_it_imports_no_framework_and_no_store(tmp_path: Path) -> None:
    modules = modules_after("serve", "--stdio", home=tmp_path)

    heavy = {"fastmcp", "mcp", "pydantic", "uvicorn", "sqlmodel", "sqlite3", "git", "asyncio"}
    assert modules & heavy == set()
    assert list(tmp_path.iterdir()) == []


def test_a_listen_that_is_taken_back_while_it_is_broken_asks_nobody_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proxy_module, "AGAIN_AFTER_S", 600.0)
    acknowledged = {"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": {}}
    listen = {"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": {"_meta": MODERN_META}}
    taken_back = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
    with ScriptedServer(events(acknowledged)) as server:
        upstream = upstream_of(tmp_path, AGENT_MAIL_URL=server.url)
        proxy = Proxy(upstream, io.BytesIO())
        proxy.take(json.dumps(listen).encode())
        (call,) = proxy._calls.values()
        assert call.listening is not None
        while not call.listening._is_broken:
            pause()
        proxy.take(json.dumps(taken_back).encode())
        proxy.end()
        ended = not proxy._calls
        ask(upstream)  # Whoever connected before was counted before.
        connections = server.connections

    assert (ended, connections) == (True, 2)

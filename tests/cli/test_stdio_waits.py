"""A waiting call behind the proxy ends with whoever asked for it."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp_types import CallToolResult

from mcp_agent_mail.cli.stdio.proxy import MAX_AT_ONCE
from tests.cli.stdio.test_proxy import MODERN_META
from tests.cli.stdio_clients import COMMAND, RawClient
from tests.served import Connection, Served, pause

WAIT_S = 50
NOTICED_WITHIN_S = 25
"""Half of what a call waits that nobody takes back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingCalls:
    """BlueLake holds `a`; RedStone asks through the proxy; GreenField looks what is free."""

    project: str
    server: Served
    connection: Connection
    client: RawClient
    directory: Path
    environment: dict[str, str]

    def reserve(self, agent: str, *paths: str, **arguments: Any) -> Any:
        given = {"project_key": self.project, "agent_name": agent, "paths": list(paths), **arguments}
        return self.connection.call("file_reservation_paths", **given)

    def ask(self, number: int, *paths: str, meta: dict[str, Any] | None) -> None:
        arguments = {"project_key": self.project, "agent_name": "RedStone", "paths": paths, "wait_seconds": WAIT_S}
        self._write(number, "tools/call", name="file_reservation_paths", arguments=arguments, _meta=meta)

    def _write(self, number: int, method: str, **params: Any) -> None:
        message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        self.client.write(json.dumps(message).encode() + b"\n")

    def take_back(self, number: int, *, meta: dict[str, Any] | None) -> None:
        params = {"requestId": number, "_meta": meta}
        message = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
        self.client.write(json.dumps(message).encode() + b"\n")

    def is_waited_for(self, path: str) -> bool:
        given = {"project_key": self.project, "agent_name": "GreenField", "paths": [path]}
        return bool(self.connection.call("check_file_reservation_conflicts", **given)["conflicts"])

    def until_waited_for(self, path: str, *, is_waited_for: bool) -> None:
        deadline = time.monotonic() + NOTICED_WITHIN_S
        while self.is_waited_for(path) != is_waited_for:
            assert time.monotonic() < deadline
            pause()

    def wait_for_mail(self, number: int, *, meta: dict[str, Any] | None) -> None:
        arguments = {"project_key": self.project, "agent_name": "RedStone", "timeout_s": WAIT_S}
        self._write(number, "tools/call", name="wait_for_messages", arguments=arguments, _meta=meta)

    def until_listening(self, *, via: str | None) -> None:
        """Until everybody is told so of RedStone, and its places are as many."""
        deadline = time.monotonic() + NOTICED_WITHIN_S
        while self._listening() != (via is not None, via, int(via is not None)):
            assert time.monotonic() < deadline, self._listening()
            pause()

    def _listening(self) -> tuple[bool, str | None, int]:
        agent = self.connection.call("whois", project_key=self.project, agent_name="RedStone")
        waits = self.connection.call("health_check")["delivery"]["waits"]
        return agent["listening"], agent["listening_via"], waits

    @asynccontextmanager
    async def official_client(self, mode: str) -> AsyncIterator[asyncio.Task[CallToolResult]]:
        """A proxy of its own, behind which RedStone waits for mail by now."""
        parameters = StdioServerParameters(
            command=COMMAND[0], args=COMMAND[1:], env=self.environment, cwd=self.directory
        )

        async def wait() -> CallToolResult:
            arguments = {"project_key": self.project, "agent_name": "RedStone", "timeout_s": WAIT_S}
            async with Client(parameters, mode=mode) as client:
                return await client.call_tool("wait_for_messages", arguments)

        task = asyncio.create_task(wait())
        try:
            await asyncio.to_thread(self.until_listening, via="wait")
            yield task
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Each test has a project of its own in it."""
    with Served(tmp_path_factory.mktemp("waits") / "store") as server:
        yield server


@pytest.fixture
def calls(server: Served, tmp_path: Path) -> Iterator[WaitingCalls]:
    project = f"/srv/{tmp_path.name}"
    with server.connect() as connection:
        connection.call("ensure_project", human_key=project)
        for agent in ("BlueLake", "RedStone", "GreenField"):
            connection.call("register_agent", project_key=project, program="p", model="m", name=agent)
        environment = server.environment() | {"AGENT_MAIL_URL": f"http://127.0.0.1:{server.port}"}
        with RawClient(tmp_path, environment) as client:
            calls = WaitingCalls(
                project=project,
                server=server,
                connection=connection,
                client=client,
                directory=tmp_path,
                environment=environment,
            )
            calls.reserve("BlueLake", "a")
            yield calls


@pytest.mark.parametrize("meta", [None, MODERN_META], ids=["handshake", "modern"])
def test_a_call_that_is_taken_back_gives_up_its_place(calls: WaitingCalls, meta: dict[str, Any] | None) -> None:
    if meta is None:
        calls.client.open()
    calls.ask(7, "a", "b", meta=meta)
    calls.until_waited_for("b", is_waited_for=True)

    calls.take_back(7, meta=meta)

    calls.until_waited_for("b", is_waited_for=False)


def test_a_proxy_that_is_killed_gives_up_its_places(calls: WaitingCalls) -> None:
    calls.client.open()
    calls.ask(7, "a", "b", meta=None)
    calls.until_waited_for("b", is_waited_for=True)

    calls.client.process.kill()

    calls.until_waited_for("b", is_waited_for=False)


def test_a_client_that_is_gone_gives_up_its_places(calls: WaitingCalls) -> None:
    calls.client.open()
    calls.ask(7, "a", "b", meta=None)
    calls.until_waited_for("b", is_waited_for=True)
    process = calls.client.process
    assert process.stdin is not None
    assert process.stdout is not None

    process.stdout.close()
    process.stdin.close()

    calls.until_waited_for("b", is_waited_for=False)
    process.stdin = process.stdout = None


def test_what_takes_a_call_back_is_read_however_many_calls_are_under_way(calls: WaitingCalls) -> None:
    calls.client.open()
    for number in range(100, 100 + MAX_AT_ONCE):
        calls.ask(number, *(["a", "b"] if number == 100 else ["a"]), meta=None)
    calls.until_waited_for("b", is_waited_for=True)
    calls.ask(200, "c", meta=None)

    calls.take_back(100, meta=None)

    assert calls.client.read()["id"] == 200
    calls.until_waited_for("b", is_waited_for=False)


@pytest.mark.parametrize("meta", [None, MODERN_META], ids=["handshake", "modern"])
@pytest.mark.parametrize("leaves", ["takes back", "is killed"])
def test_who_waits_for_mail_and_leaves_listens_no_more(
    calls: WaitingCalls, meta: dict[str, Any] | None, leaves: str
) -> None:
    if meta is None:
        calls.client.open()
    calls.wait_for_mail(7, meta=meta)
    calls.until_listening(via="wait")

    if leaves == "is killed":
        calls.client.process.kill()
    else:
        calls.take_back(7, meta=meta)

    calls.until_listening(via=None)


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"], ids=["handshake", "modern"])
async def test_an_official_client_that_leaves_while_it_waits_listens_no_more(calls: WaitingCalls, mode: str) -> None:
    async with calls.official_client(mode):
        pass

    calls.until_listening(via=None)


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"], ids=["handshake", "modern"])
async def test_an_official_client_that_waits_is_answered_by_a_send(calls: WaitingCalls, mode: str) -> None:
    async with calls.official_client(mode) as waiting:
        letter = {"project_key": calls.project, "sender_name": "BlueLake", "to": ["RedStone"], "subject": "Plan"}
        calls.connection.call("send_message", **letter, body_md="b")
        answer = await waiting

    assert answer.structured_content is not None
    assert [item["subject"] for item in answer.structured_content["messages"]] == ["Plan"]

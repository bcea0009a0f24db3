"""Callers of other packages' tools leave a server process: their calls are told to stop, and their places are free."""

from __future__ import annotations

import itertools
import json
import os
import socket
import struct
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.entry_points import install
from tests.pages.blocks import ROOT
from tests.served import PROTOCOL, Connection, Json, Served, pause

PLACES = 8
NOTICED_WITHIN_S = 25
"""Less than half of what a call has whose caller stays: this tells one from the other on the slowest machine."""
PROJECT = "/srv/shop"
NUMBERS = itertools.count(100)
"""Of requests: one that is at work in a session is not to be another's."""
PACKAGE = """
    import asyncio, os
    from mcp_agent_mail.extending import Json, tool

    def note(word):
        with open(os.environ["NOTED"], "a") as noted:
            noted.write(word + " ")

    def tools(host):
        async def rest() -> Json:
            '''Rest.'''
            note("begun")
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                note("told")
                raise

        async def wait() -> Json:
            '''Wait for mail.'''
            note("begun")
            try:
                me = {"project_key": "%s", "agent_name": "RedStone"}
                await host.call("wait_for_messages", **me, timeout_s=50)
            finally:
                note("told")

        return [tool(rest, title="Rest"), tool(wait, title="Wait")]
"""


@pytest.fixture
def noted(tmp_path: Path) -> Path:
    return tmp_path / "noted"


@pytest.fixture
def server(tmp_path: Path, noted: Path) -> Iterator[Served]:
    site = tmp_path / "site"
    site.mkdir()
    install(site, "resting-tools", PACKAGE % PROJECT, resting="tools")
    path = os.pathsep.join((str(site), str(ROOT / "src")))
    settings = {"CUSTOM_TOOLS": "resting", "HTTP_MAX_CALLS": str(PLACES), "NOTED": str(noted)}
    with Served(tmp_path / "store", port=None, PYTHONPATH=path, **settings) as server:
        yield server


def by_rpc(_connection: Connection, tool: str) -> tuple[str, dict[str, str], Json]:
    return f"/rpc/{tool}", {}, {}


def without_a_session(_connection: Connection, tool: str) -> tuple[str, dict[str, str], Json]:
    call = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": tool, "arguments": {}}}
    return "/mcp", {"MCP-Protocol-Version": PROTOCOL}, call


def in_a_session(connection: Connection, tool: str) -> tuple[str, dict[str, str], Json]:
    if not connection._session:
        connection.open_session()
    path, headers, call = without_a_session(connection, tool)
    return path, {**headers, **connection._session}, {**call, "id": next(NUMBERS)}


def closed(caller: socket.socket) -> None:
    caller.close()


def reset(caller: socket.socket) -> None:
    caller.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    caller.close()


def half_closed(caller: socket.socket) -> None:
    """As for calls that wait: who asks no more is gone."""
    caller.shutdown(socket.SHUT_WR)


def asked(server: Served, path: str, headers: dict[str, str], body: Json) -> socket.socket:
    content = json.dumps(body).encode()
    accepted = "application/json, text/event-stream"
    head = {"Host": "127.0.0.1", "Content-Type": "application/json", "Accept": accepted, **headers}
    lines = [f"POST {path} HTTP/1.1", *(f"{name}: {value}" for name, value in head.items())]
    caller = socket.create_connection(("127.0.0.1", server.port))
    caller.sendall("\r\n".join([*lines, f"Content-Length: {len(content)}", "", ""]).encode() + content)
    return caller


def until(noted: Path, word: str, count: int) -> None:
    deadline = time.monotonic() + NOTICED_WITHIN_S
    while (text := noted.read_text() if noted.exists() else "").split().count(word) < count:
        assert time.monotonic() < deadline, text
        pause()


@pytest.mark.parametrize("leave", [closed, reset, half_closed])
@pytest.mark.parametrize("door", [by_rpc, without_a_session, in_a_session])
def test_who_leaves_a_tool_gives_its_place_back(
    server: Served,
    noted: Path,
    door: Callable[[Connection, str], tuple[str, dict[str, str], Json]],
    leave: Callable[[socket.socket], None],
) -> None:
    with server.connect() as connection:
        callers = [asked(server, *door(connection, "rest")) for _ in range(PLACES)]
        until(noted, "begun", PLACES)
        refused = connection.rpc("health_check", {}).status
        for caller in callers:
            leave(caller)
        until(noted, "told", PLACES)

        assert refused == 503
        assert connection.rpc("health_check", {}).status == 200
    for caller in callers:
        caller.close()
    assert "Traceback" not in server.log.read_text()


def test_a_tool_that_waits_for_mail_and_its_wait_both_learn_that_the_caller_is_gone(
    server: Served, noted: Path
) -> None:
    with server.connect() as connection:
        connection.call("ensure_project", human_key=PROJECT)
        connection.call("register_agent", project_key=PROJECT, program="p", model="m", name="RedStone")
        caller = asked(server, *by_rpc(connection, "wait"))
        while connection.call("health_check")["delivery"]["waits"] != 1:
            pause()
        closed(caller)
        until(noted, "told", 1)

        assert connection.call("health_check")["delivery"]["waits"] == 0

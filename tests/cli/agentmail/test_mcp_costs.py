"""What `agentmail mcp` costs: one server for all its calls, and memory, with the server that it starts."""

from __future__ import annotations

import json
import subprocess

from tests.cli.agentmail.mcp_client import McpProcess
from tests.cli.agentmail.tmux_session import AgentMailHome, eventually
from tests.served import Connection, children_of

ME = {"AGENTMAIL_NAME": "me"}
GROWTH_KB = 10 * 1024
CYCLE: list[tuple[str, dict[str, str]]] = [
    ("status", {"status": "ready"}),
    ("list-recipients", {}),
    ("send", {"recipient": "you", "message": "hello " * 100}),
    ("receive", {}),
]


def test_the_first_call_waits_for_a_server_and_all_others_find_it(home: AgentMailHome) -> None:
    try:
        with McpProcess(home, ME) as client, McpProcess(home, {"AGENTMAIL_NAME": "you"}) as other:
            client.opens()
            client.calls("status", status="ready")
            first = children_of(client.pid)
            other.calls("status", status="ready")
            for _ in range(2):
                _cycle(client)
            last = children_of(client.pid)
    finally:
        home.stop_server()

    assert len(first) == 1
    assert last == first


def _rss_kb(pid: int) -> int:
    """Of a process and all below it."""
    shown = subprocess.run(["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return int(shown.stdout or 0) + sum(_rss_kb(child) for child in children_of(pid))


def test_a_hundred_calls_grow_by_less_than_ten_megabytes_with_the_server_that_it_started(
    home: AgentMailHome,
) -> None:
    try:
        with McpProcess(home, ME) as client, McpProcess(home, {"AGENTMAIL_NAME": "you"}) as other:
            client.opens()
            client.calls("status", status="ready")  # The server is this one's from now on, and not the other's.
            other.calls("status", status="ready")
            _cycle(client)
            _rest(home)
            before = _rss_kb(client.pid)
            for _ in range(25):
                _cycle(client)
            after = _rss_kb(client.pid)
            children = children_of(client.pid)
    finally:
        home.stop_server()

    assert len(children) == 1
    assert after - before < GROWTH_KB


def _rest(home: AgentMailHome) -> None:
    """Until the server's archiver, which starts beside the first calls, has begun its work and ended it."""
    port = int(json.loads((home.store / "server.json").read_text())["url"].rpartition(":")[2])
    with Connection(port) as connection:
        eventually(lambda: not connection.call("health_check")["archive"]["pending_events"])


def _cycle(client: McpProcess) -> None:
    """Four calls."""
    for tool, arguments in CYCLE:
        assert "isError" not in client.calls(tool, **arguments), tool

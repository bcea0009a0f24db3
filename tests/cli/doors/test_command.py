"""`am facade`: the doors, whom they know, links, and a server started for one of them."""

from __future__ import annotations

import json
import socket
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.shell import Shell
from tests.served import Served

PLAIN = {"Content-Type": "application/json"}


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with Served(tmp_path / "store", HOME=str(tmp_path), POSTAL_ENABLED="true") as server:
        yield server


def post(port: int, agent: str, tool: str, **arguments: Any) -> Any:
    body = json.dumps({"tool": tool, "args": arguments}).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{port}/agents/{agent}/mcp", body, PLAIN)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.loads(answer.read())


def test_the_doors_and_whom_they_know_are_shown_and_links_come_and_go(served: Served) -> None:
    post(served.port, "alice", "send_to_agent", name="bob", msg="ping")

    status = served.am("facade", "status")
    linked = served.am("facade", "link", "bob", "claude-mailbox", "--json")
    names = served.am("facade", "names")
    unlinked = served.am("facade", "unlink", "bob", "claude-mailbox", "--json")

    assert (status.returncode, status.stdout.splitlines()[0].split("\t")) == (
        0,
        ["postal", "open", "/agents/{agent}/mcp", "POSTAL_ENABLED"],
    )
    assert [line.split("\t")[:4] for line in names.stdout.splitlines()] == [
        ["alice", "postal", "-", "alice"],
        ["bob", "-", "claude-mailbox", "bob"],
    ]
    assert (json.loads(linked.stdout)["linked"], json.loads(unlinked.stdout)["linked"]) == (["claude-mailbox"], [])


def test_a_server_that_has_the_door_is_named_and_none_is_started(served: Served) -> None:
    done = served.am("facade", "postal")

    assert done.returncode == 0
    assert f"http://127.0.0.1:{served.port}" in done.stdout


def test_a_port_that_the_door_is_not_at_is_not_called_open(served: Served) -> None:
    elsewhere = served.am("facade", "postal", "--port", "7777")
    at_the_servers = served.am("facade", "postal", "--port", str(served.port))

    assert (elsewhere.returncode, elsewhere.stdout) == (75, "")
    assert "POSTAL_PORT=7777" in elsewhere.stderr
    assert "/agents/{agent}/mcp" in elsewhere.stderr
    assert at_the_servers.returncode == 0


def test_a_port_that_the_door_has_to_itself_is_called_open(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

    with Served(tmp_path / "store", HOME=str(tmp_path), POSTAL_ENABLED="true", POSTAL_PORT=str(port)) as server:
        done = server.am("facade", "postal", "--port", str(port))

    assert done.returncode == 0
    assert "open already" in done.stdout


def test_a_server_without_the_door_names_the_setting_and_is_left_alone(tmp_path: Path) -> None:
    with Served(tmp_path / "store", HOME=str(tmp_path)) as server:
        done = server.am("facade", "postal", "--port", "7777")
        status = server.am("facade", "status")

    assert done.returncode == 75
    assert "POSTAL_ENABLED=true" in done.stderr
    assert status.stdout.splitlines()[0].split("\t")[:2] == ["postal", "closed"]


def test_without_one_it_starts_with_the_door_on_that_port(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    served = Served(tmp_path / "store", HOME=str(tmp_path), HTTP_PORT="0")
    served.root.mkdir(mode=0o700)
    command = [*served.command()[:-1], "facade", "postal", "--port", str(port)]
    with subprocess.Popen(command, env=served.environment(), stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            lines = [process.stdout.readline(), process.stdout.readline()]
            sent = post(port, "alice", "send_to_agent", name="bob", msg="ping")
            taken_message = post(port, "bob", "check_mail")
        finally:
            process.terminate()

    assert lines[1] == f"postal at http://127.0.0.1:{port}\n"
    assert (taken_message["id"], taken_message["content"]) == (sent, "ping")
    assert process.returncode == 0


def test_the_status_of_what_a_start_would_open_needs_no_store(shell: Shell) -> None:
    shell.set(POSTAL_ENABLED="true", POSTAL_PORT="7777", STORAGE_ROOT=str(shell.home / "none"))

    (postal,) = (one for one in shell.am("facade", "status", "--json").json() if one["door"] == "postal")

    assert (postal["open"], postal["at"]) == (True, ["/agents/{agent}/mcp", "port 7777 of 127.0.0.1"])

"""The MCP inspector's command line against the running server. It comes from npm: `make testers`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.served import Served

pytestmark = pytest.mark.testers

INSPECTOR = "@modelcontextprotocol/inspector@2.12.0"
_WITHIN_S = 300


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with Served(tmp_path_factory.mktemp("inspected") / "store") as served:
        yield served


# Any: JSON from outside.
def _inspect(server: Served, method: str, *more: str) -> Any:
    """Node is the one that the testers group installs beside the interpreter."""
    npx = Path(sys.prefix) / "bin" / "npx"
    command = [str(npx), "--yes", INSPECTOR, "--cli", f"http://127.0.0.1:{server.port}/mcp", "--transport", "http"]
    finished = subprocess.run(
        [*command, "--method", method, *more],
        env={**os.environ, "PATH": os.pathsep.join([str(npx.parent), os.environ["PATH"]])},
        capture_output=True,
        text=True,
        check=False,
        timeout=_WITHIN_S,
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr
    return json.loads(finished.stdout)


def test_the_inspector_lists_the_tools(server: Served) -> None:
    tools = _inspect(server, "tools/list")["tools"]

    assert {"ensure_project", "send_message", "fetch_inbox"} <= {tool["name"] for tool in tools}


def test_the_inspector_calls_a_tool(server: Served) -> None:
    answer = _inspect(server, "tools/call", "--tool-name", "ensure_project", "--tool-arg", "human_key=/srv/inspected")

    assert answer["structuredContent"]["human_key"] == "/srv/inspected"


def test_the_inspector_reads_a_resource(server: Served) -> None:
    answer = _inspect(server, "resources/read", "--uri", "resource://config/environment")

    assert json.loads(answer["contents"][0]["text"])["http"]["port"] == server.port

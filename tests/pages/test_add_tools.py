"""The how-to about tools of one's own: its package, built and installed by pip, in a real server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp_types import TextContent

from tests.pages.blocks import ROOT, blocks_of
from tests.served import Connection, Served
from tests.under_uvicorn import mcp_session

PAGE = ROOT / "docs" / "how-to" / "add-tools-of-your-own.md"
SOURCE = ROOT / "src"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the page's package, as pip installs it; nothing is fetched."""
    package, site = tmp_path_factory.mktemp("shift-tools"), tmp_path_factory.mktemp("site")
    ((_, project),) = blocks_of(PAGE, "toml")
    ((_, module),) = blocks_of(PAGE, "python")
    (package / "pyproject.toml").write_text(project)
    (package / "shift_tools.py").write_text(module)
    pip = [sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", "--no-build-isolation", "--quiet"]
    done = subprocess.run(
        [*pip, "--disable-pip-version-check", "--target", str(site), str(package)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PIP_NO_CACHE_DIR": "1"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return site


def served(root: Path, site: Path, **settings: str) -> Served:
    return Served(root, port=None, PYTHONPATH=os.pathsep.join((str(site), str(SOURCE))), **settings)


@pytest.fixture
def server(tmp_path: Path, installed: Path) -> Iterator[Served]:
    with served(tmp_path / "store", installed, CUSTOM_TOOLS="shift") as server:
        with server.connect() as connection:
            work(connection)
        yield server


def work(connection: Connection) -> None:
    """Two agents, one of which holds files."""
    connection.call("ensure_project", human_key="/code/app")
    profile = {"project_key": "/code/app", "program": "test", "model": "none"}
    for name in ("BlueLake", "RedStone"):
        connection.call("register_agent", name=name, **profile)
    connection.call("file_reservation_paths", project_key="/code/app", agent_name="BlueLake", paths=["src/*.py"])


def page_call() -> dict[str, Any]:
    """What the page's curl line sends."""
    line = next(text for _, text in blocks_of(PAGE, "sh") if "curl" in text)
    arguments: dict[str, Any] = json.loads(line.split("-d '")[1].split("'")[0])
    return arguments


async def test_over_mcp_it_is_listed_validated_and_run(server: Served) -> None:
    async with mcp_session(f"http://127.0.0.1:{server.port}/mcp") as session:
        tools = {tool.name: tool for tool in (await session.list_tools()).tools}
        done = await session.call_tool("hand_over", page_call())
        refused = await session.call_tool("hand_over", {**page_call(), "to": "BlueLake"})
        wrong = await session.call_tool("hand_over", {"project_key": "/code/app", "receiver": "RedStone"})
    async with mcp_session(f"http://127.0.0.1:{server.port}/mcp?profile=core") as session:
        core = {tool.name for tool in (await session.list_tools()).tools}

    listed, text = tools["hand_over"], wrong.content[0]
    assert listed.title == "Hand work over"
    assert (listed.description or "").startswith("Hand your work over")
    assert listed.annotations is not None
    assert (listed.annotations.read_only_hint, listed.annotations.destructive_hint) == (False, False)
    assert listed.input_schema["required"] == ["project_key", "agent_name", "to", "notes"]
    assert done.structured_content == {"message_id": 1, "released": 1, "is_verified": False}
    assert refused.structured_content is not None
    assert refused.structured_content["error"]["type"] == "INVALID_INPUT"
    assert isinstance(text, TextContent)
    assert "hand_over has no argument 'receiver' and needs agent_name and notes. Did you mean to?" in text.text
    assert "hand_over" not in core
    assert "send_message" in core


def test_over_rpc_it_is_run_as_its_caller_and_counted(server: Served) -> None:
    with server.connect() as connection:
        done = connection.call("hand_over", **page_call())
        inbox = connection.call("fetch_inbox", project_key="/code/app", agent_name="RedStone", include_bodies=True)
        nobody = connection.rpc("hand_over", {**page_call(), "to": "GreenHill"})
        connection.open_session()
        directory = connection.read("resource://tooling/directory")
        metrics = connection.read("resource://tooling/metrics")

    (row,) = (row for row in metrics["tools"] if row["name"] == "hand_over")
    assert done == {"message_id": 1, "released": 1, "is_verified": False}
    assert [(one["subject"], one["body_md"], one["from"]) for one in inbox] == [
        ("Handed over", "The parser is yours.", "BlueLake")
    ]
    assert nobody.error_type == "RECIPIENT_NOT_FOUND"
    assert [one["name"] for one in directory["clusters"]][-1] == "custom"
    assert (row["calls"], row["errors"], row["cluster"]) == (2, 1, "custom")


def test_what_is_installed_and_not_named_does_not_run(tmp_path: Path, installed: Path) -> None:
    with served(tmp_path / "store", installed) as server, server.connect() as connection:
        answer = connection.rpc("hand_over", page_call())

    assert answer.error_type == "NOT_FOUND"

"""The tooling resources of a running server, read over MCP."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.served import Connection, Served

HERE = "/code/introspected"
THERE = "/code/elsewhere"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with Served(tmp_path_factory.mktemp("introspection") / "store") as running:
        with running.connect() as connection:
            for project, name in ((HERE, "BlueLake"), (HERE, "RedStone"), (THERE, "BlueLake")):
                connection.call("ensure_project", human_key=project)
                connection.call("register_agent", project_key=project, program="tests", model="none", name=name)
            connection.rpc("whois", {"project_key": HERE, "agent_name": "Nobody"})
        yield running


@pytest.fixture
def session(server: Served) -> Iterator[Connection]:
    with server.connect() as connection:
        connection.open_session()
        yield connection


def test_metrics_count_calls_and_errors(session: Connection) -> None:
    tools = {tool["name"]: tool for tool in session.read("resource://tooling/metrics")["tools"]}

    assert (tools["register_agent"]["calls"], tools["register_agent"]["errors"]) == (3, 0)
    assert (tools["whois"]["calls"], tools["whois"]["errors"]) == (1, 1)
    assert 0 < tools["register_agent"]["p50_ms"] <= tools["register_agent"]["p99_ms"]
    assert tools["fetch_topic"]["p50_ms"] is None


def test_recent_calls_name_tool_project_and_agent_and_no_more(session: Connection) -> None:
    found = session.read(f"resource://tooling/recent/3600?agent=bluelake&project={HERE}")

    assert found["count"] == 1
    (entry,) = found["entries"]
    assert {key: entry[key] for key in ("tool", "project", "agent", "cluster")} == {
        "tool": "register_agent",
        "project": HERE,
        "agent": "BlueLake",
        "cluster": "identity",
    }
    assert set(entry) == {"timestamp", "tool", "project", "agent", "cluster", "failed"}


def test_locks_name_their_holders(session: Connection, server: Served) -> None:
    server.await_drained()

    found = session.read("resource://tooling/locks")

    held = {lock["category"]: lock for lock in found["locks"]}
    assert held["store"]["owner_pid"] == server.pid
    assert held["archive"]["owner_pid"] not in (None, server.pid, os.getpid())
    assert {lock["owner_alive"] for lock in found["locks"]} == {True}
    assert found["summary"] == {"total": 2, "active": 2, "stale": 0, "metadata_missing": 0}

"""The tooling resources of a running server, read over MCP."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.served import Answer, Connection, Served

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


def test_a_retired_agent_may_only_read(session: Connection, server: Served) -> None:
    with server.connect() as connection:
        connection.call("deregister_agent", project_key=THERE, agent_name="BlueLake")

    active = session.read(f"resource://tooling/capabilities/BlueLake?project={HERE}")
    retired = session.read(f"resource://tooling/capabilities/BlueLake?project={THERE}")

    assert {"messaging:read", "messaging:write"} <= set(active["capabilities"])
    assert {capability.partition(":")[2] for capability in retired["capabilities"]} == {"read"}


def test_schemas_tell_what_is_required_and_what_every_tool_accepts(session: Connection) -> None:
    found = session.read("resource://tooling/schemas")

    assert found["global_optional"] == ["registration_token", "sender_token", "format"]
    assert found["tools"]["whois"]["required"] == ["project_key", "agent_name"]
    assert found["tools"]["whois"]["optional"] == ["include_recent_commits", "commit_limit"]


def test_under_strict_only_the_proven_see_recent_calls(tmp_path: Path) -> None:
    with Served(tmp_path / "store", AGENT_AUTH="strict") as server, server.connect() as connection:
        connection.call("ensure_project", human_key=HERE)
        mine = connection.call("register_agent", project_key=HERE, program="t", model="m", name="BlueLake")
        connection.call("ensure_project", human_key=THERE)
        connection.call("register_agent", project_key=THERE, program="t", model="m", name="RedStone")

        unproven = connection.rpc("read_resource", {"uri": "resource://tooling/recent/60"})
        headers = {"X-Agent-Token": mine["registration_token"]}
        proven = connection.rpc("read_resource", {"uri": "resource://tooling/recent/60"}, **headers)

    assert unproven.error_type == "AUTHENTICATION_REQUIRED"
    assert {entry["project"] for entry in proven.value["entries"]} == {HERE}


def test_under_strict_a_foreign_project_is_closed_by_name_too(tmp_path: Path) -> None:
    with Served(tmp_path / "store", AGENT_AUTH="strict") as server, server.connect() as connection:
        for project, name in ((HERE, "BlueLake"), (THERE, "RedStone")):
            connection.call("ensure_project", human_key=project)
            made = connection.call("register_agent", project_key=project, program="t", model="m", name=name)
            token = {"X-Agent-Token": made["registration_token"]}

        def read(uri: str) -> Answer:
            """As RedStone, who lives in the other project."""
            return connection.rpc("read_resource", {"uri": uri}, **token)

        foreign = read(f"resource://tooling/recent/60?project={HERE}")
        by_name = read("resource://tooling/recent/60?agent=BlueLake")
        capabilities = read(f"resource://tooling/capabilities/BlueLake?project={HERE}")
        own = read(f"resource://tooling/capabilities/RedStone?project={THERE}")
        nobody = connection.rpc("read_resource", {"uri": f"resource://tooling/capabilities/RedStone?project={THERE}"})
        figures = read("resource://tooling/metrics").value

    assert (foreign.value["entries"], by_name.value["entries"]) == ([], [])
    assert (capabilities.error_type, own.error_type) == ("PERMISSION_DENIED", "OK")
    assert nobody.error_type == "AUTHENTICATION_REQUIRED"
    assert HERE not in str(figures)


def test_the_ring_of_recent_calls_and_its_answer_are_bounded(tmp_path: Path) -> None:
    with Served(tmp_path / "store") as server, server.connect() as connection:
        connection.call("ensure_project", human_key=HERE)
        for _ in range(1_100):
            connection.rpc("whois", {"project_key": HERE, "agent_name": "Nobody"})

        found = connection.call("read_resource", uri="resource://tooling/recent/3600")
        widest = connection.call("read_resource", uri="resource://tooling/recent/604801")

    assert (found["count"], len(found["entries"])) == (1_000, 1_000)
    assert {entry["tool"] for entry in found["entries"]} == {"whois"}, "the newest first, the oldest left out"
    assert widest["window_seconds"] == 604_800

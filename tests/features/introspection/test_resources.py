"""The tooling resources, read as a server reads them."""

from __future__ import annotations

import os

import pytest

from mcp_agent_mail.core.errors import AuthenticationRequired, InvalidInput
from tests.features.introspection.harness import STRANGER, Watchtower


@pytest.mark.parametrize("name", ["directory", "schemas", "metrics"])
async def test_what_is_told_of_tools_tells_of_none_of_the_operators(name: str, tower: Watchtower) -> None:
    shown = str(await tower.read(name))

    assert "'send_message'" in shown
    assert "'create_join_code'" not in shown


async def test_locks_name_their_holders(tower: Watchtower) -> None:
    shown = await tower.read("locks")

    assert [(one["category"], one["owner_pid"]) for one in shown["locks"]] == [("store", os.getpid())]


async def test_recent_calls_name_tool_project_agent_and_cluster_and_no_more(tower: Watchtower) -> None:
    tower.note("whois", "/code/app", tower.seeded.blue)
    tower.note("list_agents", "/code/lib", tower.seeded.fox)

    shown = await tower.read("recent/3600?agent=bluelake&project=/code/app")

    (entry,) = shown["entries"]
    assert {key: entry[key] for key in ("tool", "project", "agent", "cluster", "failed")} == {
        "tool": "whois",
        "project": "/code/app",
        "agent": "BlueLake",
        "cluster": "identity",
        "failed": False,
    }
    assert set(entry) == {"timestamp", "tool", "project", "agent", "cluster", "failed"}


async def test_a_window_is_a_week_at_most_and_a_second_at_least(tower: Watchtower) -> None:
    widest = await tower.read("recent/604801")

    assert widest["window_seconds"] == 604_800
    with pytest.raises(InvalidInput):
        await tower.read("recent/0")


async def test_capabilities_name_the_agent_and_its_project(tower: Watchtower) -> None:
    shown = await tower.read("capabilities/BlueLake?project=/code/lib")

    assert (shown["agent"], shown["project"]) == ("BlueLake", "/code/lib")
    assert {"messaging:read", "messaging:write"} <= set(shown["capabilities"])


@pytest.mark.parametrize("uri", ["metrics", "recent/60", "capabilities/BlueLake"])
async def test_under_strict_nobody_unproven_is_told_who_does_what(uri: str, tower: Watchtower) -> None:
    tower.caller = STRANGER

    with pytest.raises(AuthenticationRequired):
        await tower.read(uri)

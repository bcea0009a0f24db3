"""Tool profiles: what a connection is shown is what it may call."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from mcp_agent_mail.core.profiles import CLUSTERS, NAMED, Profiles, ToolProfile, UnknownProfile, custom_profile
from mcp_agent_mail.server.preferences import Connections
from mcp_agent_mail.server.transport.http import HttpApp
from tests.server.hosted import hosted, toy_app
from tests.server.test_mcp import ERAS, JSON_HEADERS, post

SMALL = ToolProfile(name="custom", tools=frozenset({"echo", "count"}))


def small_app() -> HttpApp:
    return toy_app(connections=Connections(Profiles(SMALL)))


async def listed(url: str, era: Any, **headers: str) -> list[str]:
    response = await post(url, era, "tools/list", {}, **headers)
    return [tool["name"] for tool in response.json()["result"]["tools"]]


@ERAS
async def test_only_the_profiles_tools_are_listed(era: Any) -> None:
    async with hosted(small_app()) as url:
        assert await listed(f"{url}/mcp", era) == ["echo", "count"]
        assert await listed(f"{url}/mcp?profile=full", era) == ["echo", "count", "clash", "crash", "who"]
        assert await listed(f"{url}/mcp", era, **{"X-Tool-Profile": "Full"}) == [
            "echo",
            "count",
            "clash",
            "crash",
            "who",
        ]
        assert await listed(f"{url}/mcp?profile=minimal", era, **{"X-Tool-Profile": "full"}) == []


@ERAS
async def test_a_tool_that_is_not_shown_is_unknown(era: Any) -> None:
    async with hosted(small_app()) as url:
        response = await post(f"{url}/mcp", era, "tools/call", {"name": "who", "arguments": {}})

    result = response.json()["result"]
    assert result["isError"] is True
    assert result["content"][0]["text"] == "Unknown tool: who"
    assert result["structuredContent"]["error"]["type"] == "NOT_FOUND"
    assert "custom" in result["structuredContent"]["error"]["hint"]


@ERAS
async def test_resources_are_never_filtered(era: Any) -> None:
    async with hosted(small_app()) as url:
        response = await post(f"{url}/mcp", era, "resources/list", {})

    assert len(response.json()["result"]["resources"]) > 0


async def test_a_profile_does_not_bind_scripts_that_call_rpc() -> None:
    async with hosted(small_app()) as url, httpx.AsyncClient(timeout=60) as client:
        response = await client.post(f"{url}/rpc/who", json={})

    assert response.status_code == 200


async def test_an_unknown_profile_is_refused_with_the_known_ones() -> None:
    async with hosted(toy_app()) as url, httpx.AsyncClient(headers=JSON_HEADERS, timeout=60) as client:
        response = await client.post(f"{url}/mcp?profile=tiny", json={})

    assert response.status_code == 400
    assert response.json()["detail"] == "There is no tool profile 'tiny'. Accepted: core, full, messaging, minimal."


def test_the_named_profiles_nest() -> None:
    assert NAMED["minimal"] | NAMED["messaging"] < NAMED["core"] < NAMED["full"]
    assert {name: len(tools) for name, tools in NAMED.items()} == {
        "full": 54,
        "core": 21,
        "minimal": 6,
        "messaging": 12,
    }


def test_a_custom_profile_includes_or_excludes_clusters_and_tools() -> None:
    included = custom_profile(mode="include", clusters=["search"], tools=["whois"])
    excluded = custom_profile(mode="exclude", clusters=["search"], tools=["whois"])

    named = frozenset({*CLUSTERS["search"], "whois"})
    assert included.tools == named
    assert excluded.tools == NAMED["full"] - named


def test_a_name_that_there_is_not_is_told_with_those_there_are() -> None:
    with pytest.raises(UnknownProfile) as refused:
        Profiles().require("custom")

    assert refused.value.data == {"accepted": ["core", "full", "messaging", "minimal"]}

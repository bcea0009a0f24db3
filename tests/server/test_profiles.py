"""Tool profiles: what a connection is shown is what it may call."""

from __future__ import annotations

import re
from typing import Any

import httpx
import pytest

from mcp_agent_mail.core.errors import NotFound
from mcp_agent_mail.core.profiles import CLUSTERS, FULL, NAMED, Profiles, ToolProfile, UnknownProfile, custom_profile
from mcp_agent_mail.core.roles import Role
from mcp_agent_mail.core.tools import Json, ToolSpec, tool
from mcp_agent_mail.server.preferences import Connections
from mcp_agent_mail.server.rendering.profile_texts import instructions
from mcp_agent_mail.server.transport.http import HttpApp
from tests.server.hosted import hosted, toy_app, toy_edge
from tests.server.test_mcp import ERAS, JSON_HEADERS, modern_call, post

TOKEN = "the-token-of-this-server"
SMALL = ToolProfile(name="custom", tools=frozenset({"echo", "count"}))


def small_app() -> HttpApp:
    return toy_app(connections=Connections(Profiles(SMALL)))


async def listed(url: str, era: Any, **headers: str) -> list[str]:
    response = await post(url, era, "tools/list", {}, **headers)
    return [tool["name"] for tool in response.json()["result"]["tools"]]


@ERAS
async def test_what_a_readers_token_may_not_is_refused_in_words_in_a_profile_too(era: Any) -> None:
    profile = ToolProfile(name="custom", tools=frozenset({"crash"}))
    app = toy_app(toy_edge(server_token=TOKEN, role=Role.READER), connections=Connections(Profiles(profile)))
    async with hosted(app) as url:
        called = {"name": "crash", "arguments": {"text": "a"}}
        answer = await post(f"{url}/mcp", era, "tools/call", called, authorization=f"Bearer {TOKEN}")

    error = answer.json()["result"]["structuredContent"]["error"]
    assert error["type"] == "PERMISSION_DENIED"
    assert error["data"] == {"held": "reader", "needed": "writer"}


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
    assert result["content"][0]["text"] == (
        "Unknown tool: who. This connection has the tool profile custom: echo, count."
    )
    assert result["structuredContent"]["error"]["type"] == "NOT_FOUND"
    assert "custom" in result["structuredContent"]["error"]["hint"]


@ERAS
async def test_what_does_as_well_as_a_tool_that_is_not_shown_is_told(era: Any) -> None:
    async with hosted(toy_app(more_tools=(hinting(),))) as url:
        answer = await post(f"{url}/mcp?profile=minimal", era, "tools/call", {"name": "reply_message"})
        misspelt = await post(f"{url}/mcp?profile=minimal", era, "tools/call", {"name": "fetch_inbx"})

    refused, near = (each.json()["result"]["structuredContent"]["error"] for each in (answer, misspelt))
    assert refused["hint"] == "Use send_message with reply_to."
    assert near["hint"] == "Did you mean fetch_inbox?"
    assert near["data"]["nearest"] == ["fetch_inbox"]


def _shake(url: str, era: Any, query: str) -> Any:
    """How a client of this era meets the server."""
    meeting = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "tests", "version": "1"}}
    modern = era is modern_call
    return post(f"{url}/mcp{query}", era, "server/discover" if modern else "initialize", {} if modern else meeting)


@ERAS
async def test_the_instructions_are_those_of_the_profile(era: Any) -> None:
    async with hosted(toy_app()) as url:
        told = [(await _shake(url, era, query)).json()["result"]["instructions"] for query in ("", "?profile=minimal")]

    assert told == [instructions(FULL), instructions(Profiles().require("minimal"))]
    assert "Answer with reply_message." in told[0]
    assert "Answer with send_message with reply_to." in told[1]


@ERAS
async def test_a_hint_names_the_profiles_own_tools(era: Any) -> None:
    async with hosted(toy_app(more_tools=(hinting(),))) as url:
        answer = await post(f"{url}/mcp?profile=minimal", era, "tools/call", {"name": "fetch_inbox", "arguments": {}})
        full = await post(f"{url}/mcp", era, "tools/call", {"name": "fetch_inbox", "arguments": {}})

    hints = [each.json()["result"]["structuredContent"]["error"]["hint"] for each in (answer, full)]
    assert hints == ["macro_start_session shows who is there.", "list_agents shows who is there."]
    assert "macro_start_session shows who is there." in answer.json()["result"]["content"][0]["text"]


@ERAS
async def test_a_prompt_is_in_the_tools_of_the_profile_and_listed_where_it_can_be_followed(era: Any) -> None:
    filled = {"project_key": "/code/app", "agent_name": "reply_message", "to": "RedStone", "path": "a.py"}
    lacking: dict[str, list[str]] = {}
    async with hosted(toy_app()) as url:
        listing = {
            profile: (await post(f"{url}/mcp?profile={profile}", era, "prompts/list", {})).json()["result"]["prompts"]
            for profile in NAMED
        }
        for profile, prompts in listing.items():
            for prompt in prompts:
                given = {one["name"]: filled[one["name"]] for one in prompt["arguments"] if one["name"] in filled}
                params = {"name": prompt["name"], "arguments": given}
                answer = await post(f"{url}/mcp?profile={profile}", era, "prompts/get", params)
                text = answer.json()["result"]["messages"][0]["content"]["text"].replace('"reply_message"', "")
                named = {word for word in re.findall(r"\w+", text) if word in NAMED["full"]}
                lacking[f"{profile} {prompt['name']}"] = sorted(named - NAMED[profile])

    assert {profile: len(prompts) for profile, prompts in listing.items()} == {
        "full": 4,
        "core": 4,
        "minimal": 4,
        "messaging": 3,
    }
    assert {name: tools for name, tools in lacking.items() if tools} == {}


def hinting() -> ToolSpec:
    async def fetch_inbox() -> Json:
        """Refuse."""
        raise NotFound("Nobody.", hint="list_agents shows who is there.")

    return tool(fetch_inbox, cluster="messaging", title="Fetch")


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


def test_tools_of_other_packages_are_the_cluster_custom_and_in_no_profile_of_ours() -> None:
    loaded = ["hand_over", "count_mail"]
    included = custom_profile(mode="include", clusters=["custom"], tools=["whois"], loaded=loaded)
    left_out = custom_profile(mode="include", clusters=["search"], tools=[], loaded=loaded)
    excluded = custom_profile(mode="exclude", clusters=["search"], tools=[], loaded=loaded)
    without = custom_profile(mode="exclude", clusters=["custom"], tools=[], loaded=loaded)

    assert included.tools == frozenset({"whois", *loaded})
    assert left_out.tools == frozenset(CLUSTERS["search"])
    assert excluded.tools == (NAMED["full"] | {*loaded}) - {*CLUSTERS["search"]}
    assert without.tools == NAMED["full"]
    shown = [name for name in ("core", "minimal", "messaging", "full") if Profiles().require(name).shows("hand_over")]
    assert shown == ["full"]


def test_a_name_that_there_is_not_is_told_with_those_there_are() -> None:
    with pytest.raises(UnknownProfile) as refused:
        Profiles().require("custom")

    assert refused.value.data == {"accepted": ["core", "full", "messaging", "minimal"]}

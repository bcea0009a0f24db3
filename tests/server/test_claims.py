"""Where the profile is served and where it is not: its tools are its connections' alone, and it has no others."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from mcp.shared.exceptions import MCPError

from mcp_agent_mail.core.profiles import TOOLS
from mcp_agent_mail.facades.claims.profile import CLAIMS, GREETING
from mcp_agent_mail.server.prompts import WORKFLOWS
from tests.facades.claims.claims_client import PROFILE, Caller, ClaimsServer, open_claims
from tests.server.test_mcp import ERAS, JSON_HEADERS, post


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[ClaimsServer]:
    async with open_claims(tmp_path) as opened:
        yield opened


@pytest.fixture
async def claims(server: ClaimsServer) -> AsyncIterator[Caller]:
    async with server.connected() as connected:
        yield connected


THIRTEEN = [
    "acknowledge_message",
    "check_my_messages",
    "claim_paths",
    "create_agent",
    "install_precommit_guard",
    "list_agents",
    "release_claims",
    "reply_message",
    "search_messages",
    "send_message",
    "summarize_thread",
    "uninstall_precommit_guard",
    "whois",
]
OWN = ["check_my_messages", "claim_paths", "create_agent", "release_claims"]


async def test_exactly_thirteen_tools_are_listed(claims: Caller) -> None:
    assert sorted(await claims.tools()) == THIRTEEN == sorted(CLAIMS.tools or ())


async def test_their_parameters_are_the_earlier_systems(claims: Caller) -> None:
    tools = {tool.name: tool.input_schema for tool in (await claims.session.list_tools()).tools}
    named = {name: list(schema["properties"]) for name, schema in tools.items()}
    images = ["convert_images", "image_embed_policy", "inline_max_bytes"]

    assert named == {
        "create_agent": ["project_key", "program", "model", "task_description", "name_hint"],
        "whois": ["project_key", "agent_name"],
        "list_agents": ["project_key", "active_within_s", "include_retired", "limit"],
        "send_message": [
            *("project_key", "from_agent", "to", "subject", "body_md", "cc", "bcc", "importance", "ack_required"),
            *("thread_id", *images),
        ],
        "reply_message": [
            *("project_key", "from_agent", "reply_to_message_id", "body_md", "to", "cc", "bcc", "importance"),
            *("ack_required", *images),
        ],
        "check_my_messages": ["project_key", "agent_name", "since_ts", "urgent_only", "include_bodies", "limit"],
        "acknowledge_message": ["project_key", "agent_name", "message_id"],
        "claim_paths": ["project_key", "agent_name", "paths", "ttl_seconds", "exclusive", "reason"],
        "release_claims": ["project_key", "agent_name", "paths"],
        "search_messages": ["project_key", "query", "limit"],
        "summarize_thread": ["project_key", "thread_id", "include_examples"],
        "install_precommit_guard": ["project_key", "code_repo_path"],
        "uninstall_precommit_guard": ["code_repo_path"],
    }
    assert tools["check_my_messages"]["properties"]["since_ts"] == {"type": "number", "default": 0}


@ERAS
async def test_both_eras_and_both_ways_of_asking_are_served(server: ClaimsServer, era: object) -> None:
    by_url = await post(f"{server.url}/mcp?profile=claims", era, "tools/list", {})
    by_header = await post(f"{server.url}/mcp/", era, "tools/list", {}, **{"X-Tool-Profile": "Claims"})

    for answer in (by_url, by_header):
        assert sorted(tool["name"] for tool in answer.json()["result"]["tools"]) == THIRTEEN


async def test_the_tools_are_neither_listed_nor_callable_elsewhere(server: ClaimsServer) -> None:
    for query in ("", "?profile=full", "?profile=core"):
        async with server.connected(query=query) as native:
            assert [name for name in await native.tools() if name in OWN] == [], query
            for name in OWN:
                assert (await native.refused(name))["message"] == f"Unknown tool: {name}", query
    async with httpx.AsyncClient(timeout=60) as client:
        over_rpc = [await client.post(f"{server.url}/rpc/{name}?profile=claims", json={}) for name in OWN]

    assert [answer.status_code for answer in over_rpc] == [404] * len(OWN)


async def test_native_tools_are_unknown_to_it_and_their_likes_are_named(claims: Caller) -> None:
    hints = {name: (await claims.refused(name))["hint"] for name in sorted({*TOOLS} - {*THIRTEEN})}

    assert hints["fetch_inbox"] == "Use check_my_messages."
    assert hints["file_reservation_paths"] == "Use claim_paths."
    assert hints["register_agent"] == hints["macro_start_session"] == "Use create_agent."
    assert hints["set_contact_policy"].endswith("connect with ?profile=core, or ask Human.")
    assert all(hints.values())


async def test_whoever_would_prolong_a_claim_is_not_led_to_giving_it_back(claims: Caller) -> None:
    assert (await claims.refused("renew_claims"))["hint"] == "Use claim_paths."


async def test_who_is_not_let_in_is_shown_the_call_in_this_profiles_own_words(tmp_path: Path) -> None:
    async with (
        open_claims(tmp_path, AGENT_AUTH="strict", PROJECT_ADMISSION="operator") as server,
        server.connected() as claims,
    ):
        await claims.create(tmp_path, "BlueLake")
        newcomer = {"project_key": str(tmp_path), "name_hint": "RedStone", **PROFILE}
        refused = await claims.refused("create_agent", **newcomer)

    (call,) = refused["data"]["suggested_tool_calls"]
    assert (refused["type"], call["tool"]) == ("PERMISSION_DENIED", "create_agent")
    assert call["arguments"].keys() == {*newcomer, "registration_token"}


async def test_a_session_of_the_one_side_is_none_of_the_other(server: ClaimsServer) -> None:
    """Each request says what it wants: the id of a session opened elsewhere leads to no other tools."""
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    async with httpx.AsyncClient(headers=JSON_HEADERS, timeout=60) as client:
        opened = await client.post(
            f"{server.url}/mcp?profile=claims",
            json={"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello},
        )
        session = {"Mcp-Session-Id": opened.headers["mcp-session-id"], "MCP-Protocol-Version": "2025-11-25"}
        listing = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
        native = await client.post(f"{server.url}/mcp", json=listing, headers=session)
        stream = await client.get(f"{server.url}/mcp?profile=claims", headers=session)

    assert opened.json()["result"]["instructions"] == GREETING
    assert "claim_paths" not in native.text
    assert "file_reservation_paths" in native.text
    assert stream.status_code == 405


async def test_it_has_no_prompts_which_name_other_tools(claims: Caller) -> None:
    assert (await claims.session.list_prompts()).prompts == []
    for workflow in WORKFLOWS:
        with pytest.raises(MCPError, match=r"Unknown prompt|not found"):
            await claims.session.get_prompt(workflow.name, dict.fromkeys(workflow.arguments, "x"))


@pytest.mark.parametrize("filtered", ["full", "minimal", "custom"])
async def test_the_servers_own_choice_of_tools_does_not_bind_it(tmp_path: Path, filtered: str) -> None:
    own = {"TOOLS_FILTER_PROFILE": filtered, **({"TOOLS_FILTER_TOOLS": "whois"} if filtered == "custom" else {})}
    async with open_claims(tmp_path, **own) as server, server.connected() as claims:
        assert sorted(await claims.tools()) == THIRTEEN


async def test_switched_off_it_is_no_profile(tmp_path: Path) -> None:
    async with open_claims(tmp_path, CLAIMS_ENABLED="false") as server, httpx.AsyncClient(timeout=60) as client:
        answer = await client.post(f"{server.url}/mcp?profile=claims", json={}, headers=JSON_HEADERS)

    assert answer.status_code == 400
    assert answer.json()["detail"] == (
        "There is no tool profile 'claims'. Accepted: core, full, messaging, minimal. "
        "CLAIMS_ENABLED=true in the server's settings opens it."
    )


async def test_switched_on_it_is_named_among_those_there_are(server: ClaimsServer) -> None:
    async with httpx.AsyncClient(timeout=60) as client:
        answer = await client.post(f"{server.url}/mcp?profile=claim", json={}, headers=JSON_HEADERS)

    assert answer.json()["detail"].endswith("Accepted: claims, core, full, messaging, minimal.")


async def test_under_strict_nobody_acts_without_its_token(tmp_path: Path) -> None:
    async with open_claims(tmp_path, AGENT_AUTH="strict") as server, server.connected() as claims:
        made = await claims.create(tmp_path, "BlueLake")
        other = await claims.create(tmp_path, "RedStone")
        mine = {"project_key": str(tmp_path), "agent_name": "BlueLake", "paths": ["a.py"]}
        without = await claims.refused("claim_paths", **mine)
        wrong = await claims.refused("claim_paths", **mine, registration_token=other["registration_token"])
        proven = await claims.call("claim_paths", **mine, registration_token=made["registration_token"])
        async with server.connected(headers={"X-Agent-Token": made["registration_token"]}) as by_header:
            released = await by_header.call("release_claims", **mine)

    assert [error["type"] for error in (without, wrong)] == ["AUTHENTICATION_REQUIRED", "PERMISSION_DENIED"]
    assert [one["path"] for one in proven["granted"]] == ["a.py"]
    assert released["released"] == 1


async def test_the_servers_token_and_its_own_hosts_are_asked_for_here_too(tmp_path: Path) -> None:
    token = "s" * 32
    async with open_claims(tmp_path, HTTP_BEARER_TOKEN=token) as server:
        async with httpx.AsyncClient(headers=JSON_HEADERS, timeout=60) as client:
            url = f"{server.url}/mcp?profile=claims"
            without = await client.post(url, json={})
            foreign = await client.post(url, json={}, headers={"Host": "elsewhere.example"})
        async with server.connected(headers={"Authorization": f"Bearer {token}"}) as claims:
            made = await claims.call("create_agent", project_key=str(tmp_path), **PROFILE)

    assert (without.status_code, foreign.status_code) == (401, 403)
    assert made["name"]


async def test_mail_of_the_one_side_is_read_once_on_the_other(server: ClaimsServer, tmp_path: Path) -> None:
    key = str(tmp_path)
    async with server.connected() as claims, server.connected(query="") as native:
        await claims.create(key, "BlueLake")
        await native.call("register_agent", project_key=key, name="RedStone", **PROFILE)
        sent = await claims.call(
            "send_message", project_key=key, from_agent="BlueLake", to=["RedStone"], subject="Plan", body_md="b"
        )
        number = sent["deliveries"][0]["payload"]["id"]
        await native.call("fetch_inbox", project_key=key, agent_name="RedStone", mark_read=True)
        held = await claims.call("claim_paths", project_key=key, agent_name="BlueLake", paths=["a.py"])
        taken = await native.call("file_reservation_paths", project_key=key, agent_name="RedStone", paths=["a.py"])
        left = await native.call("fetch_inbox", project_key=key, agent_name="RedStone", unread_only=True)
        checked = await claims.call("check_my_messages", project_key=key, agent_name="RedStone")

    assert left["result"] == []
    assert [(mail["id"], mail["read_at"] is not None) for mail in checked["result"]] == [(number, True)]
    assert taken["conflicts"][0]["holders"][0]["reservation_id"] == held["granted"][0]["id"]

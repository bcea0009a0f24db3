"""The running application as the product is put together: each of its paths by its class, and who it lets in."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from mcp_agent_mail.domain.doors.names import Door
from mcp_agent_mail.server import mcp as server_mcp
from mcp_agent_mail.server.assembly import ROUTES, build_http_app
from mcp_agent_mail.server.edge.paths import RULES, AcceptedBearers, PathClass
from mcp_agent_mail.server.transport.http import HttpApp
from tests.facades.all_doors import open_all_doors
from tests.server.hosted import hosted
from tests.server.jwt.issuing import AUDIENCE, ISSUER, SECRET, claims, signed
from tests.server.whole_app import OPERATOR, open_services, settings_of

SERVER = "the-token-of-this-whole-server"
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


@asynccontextmanager
async def running(directory: Path, **settings: str) -> AsyncIterator[tuple[HttpApp, httpx.AsyncClient]]:
    loaded = settings_of(directory, **settings)
    async with open_services(loaded) as (services, _):
        app = build_http_app(loaded, services, operator_token=OPERATOR)
        async with hosted(app) as url, httpx.AsyncClient(base_url=url, timeout=60) as client:
            yield app, client


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def concrete(path: str) -> str:
    """A path of those below, where `path` is all below a first part."""
    return f"{path}something" if path.endswith("/") and path not in ("/mcp/", "/api/", "/mail/") else path


async def rpc(client: httpx.AsyncClient, tool: str, token: str, **arguments: Any) -> Any:
    answer = await client.post(f"/rpc/{tool}", json=arguments, headers=bearer(token))
    assert answer.status_code == 200, answer.text
    return answer.json()


async def mcp(client: httpx.AsyncClient, tool: str, token: str, **arguments: Any) -> Any:
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
    answer = await client.post("/mcp", json=body, headers=bearer(token))
    return answer.json()["result"]["structuredContent"]


async def test_every_path_that_is_served_has_a_class(tmp_path: Path) -> None:
    async with running(tmp_path, HTTP_PATH="/post/") as (app, _):
        listed = app.paths.listed()

    mcp_paths = dict.fromkeys(["/mcp", "/mcp/", "/api", "/api/", "/post", "/post/"], PathClass.MCP)
    assert listed == {
        "/health/liveness": PathClass.PROBE,
        "/health/readiness": PathClass.PROBE,
        "/.well-known/": PathClass.DISCOVERY,
        **mcp_paths,
        "/rpc/": PathClass.RPC,
        "/guard/check": PathClass.GUARD,
        "/guard/events": PathClass.GUARD,
        "/metrics": PathClass.METRICS,
        "/attachments/": PathClass.ATTACHMENT,
        "/rest/": PathClass.REST,
        "/": PathClass.PAGE,
        "/mail": PathClass.PAGE,
        "/mail/": PathClass.PAGE,
        "/assets/": PathClass.ASSET,
    }
    assert set(ROUTES) <= set(listed)


async def test_each_path_asks_of_whoever_comes_what_its_class_says(tmp_path: Path) -> None:
    async with running(tmp_path, HTTP_BEARER_TOKEN=SERVER) as (app, client):
        for path, path_class in app.paths.listed().items():
            rule = RULES[path_class]
            for method in METHODS:
                if method == "GET" and path_class is PathClass.MCP:
                    continue  # An event stream; it is refused as the others are.
                without = await client.request(method, concrete(path))
                opened = await client.request(method, concrete(path), headers=bearer(SERVER))
                is_answered = rule.methods is None or method in rule.methods

                shown = f"{method} {path}: {without.status_code}, {opened.status_code}"
                if rule.accepts is AcceptedBearers.NONE:
                    assert (without.status_code != 405, opened.status_code != 405) == (is_answered,) * 2, shown
                    assert without.status_code != 401, shown
                else:
                    assert without.status_code == 401, shown
                    assert opened.status_code != 401, shown
                    assert is_answered or opened.status_code == 405, shown


async def test_at_a_door_a_reader_gets_nothing_the_operators_token_is_nobodys_and_its_probe_is_free(
    tmp_path: Path,
) -> None:
    settings = {"HTTP_BEARER_TOKEN": SERVER, "HTTP_RATE_LIMIT_ENABLED": "true", "HTTP_RATE_LIMIT_PER_MINUTE": "3"}
    async with open_all_doors(tmp_path, **settings) as doors:
        mailbox = doors.at(Door.CLAUDE_MAILBOX)
        issued = await doors.client.post(
            f"{doors.url}/rpc/create_issued_token", json={"role": "reader"}, headers=bearer(OPERATOR)
        )
        paths = [f"{doors.url}/agents/bob/mcp", f"{doors.url}/agentmail/pop", f"{mailbox}/v1/list"]
        as_reader = [await doors.client.get(path, headers=bearer(issued.json()["token"])) for path in paths]
        as_operator = [await doors.client.get(path, headers=bearer(OPERATOR)) for path in paths]
        probes = [await doors.client.get(f"{mailbox}/health") for _ in range(5)]

    assert [answer.status_code for answer in as_reader] == [403] * 3
    assert "needs the role writer" in as_reader[0].text
    assert [answer.status_code for answer in as_operator] == [401] * 3
    assert [answer.status_code for answer in probes] == [200] * 5


async def test_over_mcp_the_operator_has_its_right_and_is_not_human(tmp_path: Path) -> None:
    async with running(tmp_path, HTTP_BEARER_TOKEN=SERVER, AGENT_AUTH="strict") as (_, client):
        key = {"human_key": str(tmp_path)}
        await mcp(client, "ensure_project", OPERATOR, **key)
        agent = {"project_key": str(tmp_path), "program": "tests", "model": "none"}
        await mcp(client, "register_agent", OPERATOR, **agent, name="BlueLake")
        own = {"project_key": str(tmp_path), "agent_name": "BlueLake"}
        as_server = await mcp(client, "fetch_inbox", SERVER, **own)
        as_operator = await mcp(client, "fetch_inbox", OPERATOR, **own)
        letter = {"project_key": str(tmp_path), "to": ["BlueLake"], "subject": "a", "body_md": "b"}
        as_human = await mcp(client, "send_message", OPERATOR, **letter, sender_name="Human")

    assert as_server["error"]["type"] == "AUTHENTICATION_REQUIRED"
    assert as_operator["result"] == []
    assert as_human["error"]["type"] == "PERMISSION_DENIED", as_human


@pytest.mark.parametrize("path", ["/rest/v1/events", "/mcp"])
async def test_a_stream_ends_once_the_token_that_opened_it_is_revoked(path: str, tmp_path: Path) -> None:
    async with running(tmp_path, HTTP_BEARER_TOKEN=SERVER) as (_, client):
        await rpc(client, "ensure_project", SERVER, human_key=str(tmp_path))
        agent = {"project_key": str(tmp_path), "program": "tests", "model": "none"}
        await rpc(client, "register_agent", SERVER, **agent, name="BlueLake")
        issued = await rpc(client, "create_issued_token", OPERATOR, role="writer")
        headers = {**bearer(issued["token"]), "Accept": "text/event-stream, application/json"}
        if path == "/mcp":
            meant = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
            begun = await client.post(
                path, json={"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": meant}, headers=headers
            )
            headers |= {"Mcp-Session-Id": begun.headers["mcp-session-id"], "MCP-Protocol-Version": "2025-06-18"}
        asked = {"project_key": str(tmp_path), "agent_name": "BlueLake"} if path != "/mcp" else {}

        async with client.stream("GET", path, params=asked, headers=headers) as stream:
            await rpc(client, "revoke_issued_token", OPERATOR, issued_token_id=issued["id"])
            async with asyncio.timeout(60):
                async for _ in stream.aiter_bytes():
                    pass
        again = await client.get(path, params=asked, headers=headers)

    assert (stream.status_code, again.status_code) == (200, 401)
    assert "no-store" in stream.headers["cache-control"]


async def test_a_wait_ends_once_the_token_that_began_it_is_revoked(tmp_path: Path) -> None:
    async with running(tmp_path, HTTP_BEARER_TOKEN=SERVER) as (_, client):
        await rpc(client, "ensure_project", SERVER, human_key=str(tmp_path))
        agent = {"project_key": str(tmp_path), "program": "tests", "model": "none"}
        await rpc(client, "register_agent", SERVER, **agent, name="BlueLake")
        issued = await rpc(client, "create_issued_token", OPERATOR, role="writer")
        waiting = asyncio.create_task(
            client.post(
                "/rpc/wait_for_messages",
                json={"project_key": str(tmp_path), "agent_name": "BlueLake", "timeout_s": 55},
                headers=bearer(issued["token"]),
            )
        )
        async with asyncio.timeout(45):
            while "mcp_agent_mail_waits 1" not in (await client.get("/metrics", headers=bearer(SERVER))).text:
                pass
            await rpc(client, "revoke_issued_token", OPERATOR, issued_token_id=issued["id"])
            answer = await waiting

    assert (answer.status_code, answer.json()["error"]["type"]) == (401, "AUTHENTICATION_REQUIRED")


async def test_a_name_in_a_jwt_that_another_project_takes_too_is_told_to_whom_it_proved(tmp_path: Path) -> None:
    jwts = {"HTTP_JWT_ENABLED": "true", "HTTP_JWT_SECRET": SECRET, "HTTP_JWT_AUDIENCE": AUDIENCE}
    one, two = (str(tmp_path / name) for name in ("one", "two"))
    token = signed(claims(role="writer", agent="BlueLake", exp=int(time.time()) + 900, iat=None))
    inbox = {"project_key": one, "agent_name": "BlueLake"}
    async with running(tmp_path, HTTP_JWT_ISSUER=ISSUER, **jwts) as (_, client):
        for project in (one, two):
            await rpc(client, "ensure_project", OPERATOR, human_key=project)
        blue = {"name": "BlueLake", "program": "tests", "model": "none"}
        await rpc(client, "register_agent", OPERATOR, project_key=one, **blue)
        before = await client.post("/rpc/fetch_inbox", json=inbox, headers=bearer(token))
        await rpc(client, "register_agent", OPERATOR, project_key=two, **blue)
        after = await client.post("/rpc/fetch_inbox", json=inbox, headers=bearer(token))

    assert (before.status_code, after.status_code) == (200, 401)
    error = after.json()["error"]
    assert error["message"] == (
        "Acting as BlueLake needs a token that proves it. "
        "The token that let you in names BlueLake without a project, and several projects have that name."
    )
    assert error["hint"].startswith("Have its issuer write Name@project in the token: BlueLake@")
    assert "AGENT_AUTH" not in after.text


async def test_a_profile_of_another_systems_tools_knows_no_operator(tmp_path: Path) -> None:
    """By its role a token would read anybody's mail there."""
    settings = {"HTTP_BEARER_ROLE": "operator", "AGENT_AUTH": "strict", "CLAIMS_ENABLED": "true"}
    async with running(tmp_path, HTTP_BEARER_TOKEN=SERVER, **settings) as (_, client):
        await rpc(client, "ensure_project", SERVER, human_key=str(tmp_path))
        agent = {"project_key": str(tmp_path), "program": "tests", "model": "none"}
        await rpc(client, "register_agent", SERVER, **agent, name="BlueLake")
        asked = {"project_key": str(tmp_path), "agent_name": "BlueLake"}
        call = {"name": "check_my_messages", "arguments": asked}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
        answer = await client.post("/mcp?profile=claims", json=body, headers=bearer(SERVER))
        own = await rpc(client, "fetch_inbox", SERVER, **asked)

    assert answer.json()["result"]["isError"] is True
    assert "token" in answer.text
    assert own == []


@pytest.mark.parametrize("is_on", ["true", "false"])
async def test_calls_go_past_fastmcp_unless_the_setting_says_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_on: str
) -> None:
    """Those of our own tools, of a profile with a table of its own, and of a door."""
    reached: list[str] = []
    handler = server_mcp._call_tool

    async def counted(tables: Any, ctx: Any, params: Any) -> Any:
        reached.append(ctx.params["name"])
        return await handler(tables, ctx, params)

    monkeypatch.setattr(server_mcp, "_call_tool", counted)
    places: tuple[tuple[str, str, dict[str, str]], ...] = (
        ("/mcp", "health_check", {}),
        ("/mcp?profile=claims", "check_my_messages", {}),
        ("/agents/bob/mcp/", "send_to_agent", {"to": "bob", "content": "hello"}),
    )
    asked = {"HTTP_FAST_PATH_ENABLED": is_on, "CLAIMS_ENABLED": "true", "POSTAL_ENABLED": "true"}
    async with running(tmp_path, **asked) as (_, client):
        for path, name, arguments in places:
            call = {"name": name, "arguments": arguments}
            body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
            answer = await client.post(path, json=body)
            assert "content" in answer.json()["result"], answer.text

    assert reached == ([] if is_on == "true" else [name for _, name, _ in places])

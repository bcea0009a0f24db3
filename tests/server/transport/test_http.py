"""What stands before the tools: doors, hosts, tokens, bounds, probes."""

from __future__ import annotations

import asyncio
import json
import logging

import httpx
import pytest
from mcp.client.session import ClientSession
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from mcp_agent_mail.server.transport.limits import MAX_BODY_BYTES
from tests.server.hosted import hosted, toy_app, toy_edge

TOKEN = "the-servers-own-token"
OPERATOR = "amo_the-operators-token"
EVERY_DOOR = ["/mcp", "/api/", "/mail", "/rpc/count", "/rpc/read_resource", "/nowhere"]
MCP_CALL = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "who", "arguments": {}}}


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


async def statuses(url: str, paths: list[str], headers: dict[str, str]) -> list[int]:
    async with httpx.AsyncClient(headers=headers, timeout=60) as client:
        return [(await client.post(f"{url}{path}", json={})).status_code for path in paths]


async def test_probes_say_alive_and_ready() -> None:
    async with hosted(toy_app()) as url, httpx.AsyncClient(timeout=60) as client:
        alive = await client.get(f"{url}/health/liveness")
        ready = await client.get(f"{url}/health/readiness")

    assert (alive.status_code, alive.json()) == (200, {"status": "alive"})
    assert (ready.status_code, ready.json()) == (200, {"status": "ready"})


async def test_a_server_that_is_not_ready_says_503() -> None:
    async with hosted(toy_app(ready=False)) as url, httpx.AsyncClient(timeout=60) as client:
        ready = await client.get(f"{url}/health/readiness")

    assert (ready.status_code, ready.json()) == (503, {"status": "starting"})


@pytest.mark.parametrize(
    "path", ["/.well-known/oauth-authorization-server", "/.well-known/oauth-authorization-server/mcp"]
)
async def test_discovery_says_that_there_is_no_oauth_token_or_not(path: str) -> None:
    async with hosted(toy_app(toy_edge(server_token=TOKEN))) as url, httpx.AsyncClient(timeout=60) as client:
        answer = await client.get(f"{url}{path}")

    assert (answer.status_code, answer.json()) == (404, {"mcp_oauth": False})


@pytest.mark.parametrize("header", [{"Host": "evil.example"}, {"Origin": "https://evil.example"}])
async def test_other_hosts_and_their_pages_are_refused_at_every_door(header: dict[str, str]) -> None:
    async with hosted(toy_app(toy_edge(allowed_hosts=("mail.example",)))) as url:
        assert await statuses(url, EVERY_DOOR, header) == [403] * len(EVERY_DOOR)


async def test_allowed_hosts_and_their_pages_are_served() -> None:
    async with hosted(toy_app(toy_edge(allowed_hosts=("mail.example",)))) as url:
        headers = {"Host": "mail.example:1", "Origin": "https://mail.example"}
        assert await statuses(url, ["/rpc/count"], headers) == [200]


async def test_a_server_with_a_token_wants_it_at_every_door() -> None:
    async with hosted(toy_app(toy_edge(server_token=TOKEN))) as url, httpx.AsyncClient(timeout=60) as client:
        without = await statuses(url, EVERY_DOOR, {})
        wrong = await statuses(url, EVERY_DOOR, bearer("wrong"))
        refusal = await client.post(f"{url}/rpc/count", json={})

    assert without == wrong == [401] * len(EVERY_DOOR)
    assert list(refusal.json()) == ["detail"]
    assert refusal.headers["www-authenticate"].startswith("Bearer")


async def test_the_servers_token_opens_and_is_nobodys_agent_token() -> None:
    headers = {**bearer(TOKEN), "X-Agent-Token": "amt_blue"}
    async with (
        hosted(toy_app(toy_edge(server_token=TOKEN))) as url,
        httpx.AsyncClient(headers=headers, timeout=60) as client,
    ):
        over_rpc = (await client.post(f"{url}/rpc/who", json={"sender_token": "amt_red"})).json()
        over_mcp = (await client.post(f"{url}/mcp", json=MCP_CALL)).json()["result"]["structuredContent"]

    assert over_rpc == {"via": "rpc", "bearer": None, "agent": "amt_blue", "argument": "amt_red"}
    assert over_mcp == {"via": "mcp", "bearer": None, "agent": "amt_blue", "argument": None}


async def test_without_a_server_token_the_bearer_token_is_the_agents() -> None:
    async with hosted(toy_app()) as url, httpx.AsyncClient(headers=bearer("amt_blue"), timeout=60) as client:
        who = (await client.post(f"{url}/rpc/who", json={})).json()

    assert who == {"via": "rpc", "bearer": "amt_blue", "agent": None, "argument": None}


async def test_the_operators_token_opens_every_path_of_ours() -> None:
    async with hosted(toy_app(toy_edge(server_token=TOKEN, operator_token=OPERATOR))) as url:
        opened = await statuses(url, ["/rpc/who", "/rpc/rule", "/mcp", "/api"], bearer(OPERATOR))
        closed = await statuses(url, ["/rpc/who", "/mcp"], bearer(f"{OPERATOR}x"))

    assert (401 in opened, closed) == (False, [401, 401])


async def test_this_machine_needs_no_token_where_that_is_allowed_unless_a_proxy_speaks() -> None:
    async with hosted(toy_app(toy_edge(server_token=TOKEN, trust_loopback=True))) as url:
        direct = await statuses(url, ["/rpc/who"], {})
        proxied = await statuses(url, ["/rpc/who"], {"X-Forwarded-For": "203.0.113.9"})

    assert (direct, proxied) == ([200], [401])


@pytest.mark.parametrize("path", ["/mcp", "/rpc/echo"])
@pytest.mark.parametrize("chunked", [False, True])
async def test_a_body_over_the_limit_is_413_and_the_server_lives(path: str, chunked: bool) -> None:
    async def pieces() -> object:
        for _ in range(MAX_BODY_BYTES // 65_536 + 1):
            yield b" " * 65_536

    content = pieces() if chunked else b" " * (MAX_BODY_BYTES + 1)
    headers = {"Content-Type": "application/json"}
    async with hosted(toy_app()) as url, httpx.AsyncClient(headers=headers, timeout=60) as client:
        refused = await client.post(f"{url}{path}", content=content)  # type: ignore[arg-type]
        alive = await client.post(f"{url}/rpc/count", json={})

    said = ["jsonrpc", "id", "error", "detail"] if path == "/mcp" else ["detail"]
    assert (refused.status_code, list(refused.json())) == (413, said)
    assert alive.status_code == 200


@pytest.mark.parametrize("path", ["/mcp", "/rpc/echo"])
async def test_a_body_of_just_the_limit_is_read(path: str) -> None:
    body = json.dumps({"text": "a", **MCP_CALL} if path == "/mcp" else {"text": "a"}).encode()
    headers = {"Content-Type": "application/json"}
    async with hosted(toy_app()) as url, httpx.AsyncClient(headers=headers, timeout=60) as client:
        answer = await client.post(f"{url}{path}", content=body + b" " * (MAX_BODY_BYTES - len(body)))

    assert answer.status_code == 200


async def test_a_client_that_leaves_mid_request_harms_nobody() -> None:
    async with hosted(toy_app()) as url, httpx.AsyncClient(timeout=60) as client:
        for path in (b"/mcp", b"/rpc/echo"):
            _, writer = await asyncio.open_connection("127.0.0.1", int(url.rpartition(":")[2]))
            writer.write(
                b"POST " + path + b" HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                b"Content-Length: 100\r\n\r\n{"
            )
            await writer.drain()
            writer.close()
            await writer.wait_closed()
        alive = await client.post(f"{url}/rpc/count", json={})

    assert alive.status_code == 200


async def test_an_unknown_path_says_where_things_are() -> None:
    async with hosted(toy_app()) as url, httpx.AsyncClient(timeout=60) as client:
        lost = await client.get(f"{url}/inbox")

    assert lost.status_code == 404
    assert "MCP is at /mcp" in lost.json()["detail"]


async def test_logs_hold_paths_and_outcomes_and_never_what_was_said(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="mcp_agent_mail")
    async with hosted(toy_app(log=True)) as url, httpx.AsyncClient(headers=bearer("s3cret"), timeout=60) as client:
        await client.post(f"{url}/rpc/echo?key=s3cret", json={"text": "s3cret"})
        await client.post(f"{url}/rpc/clash", json={})

    ours = [record for record in caplog.records if record.name.startswith("mcp_agent_mail")]
    assert [record.getMessage() for record in ours] == ["tool echo", "POST /rpc/echo", "tool clash", "POST /rpc/clash"]
    assert [getattr(record, "facts", {}).get("outcome") for record in ours] == ["ok", None, "CONFLICT", None]
    assert "s3cret" not in "".join(f"{record.getMessage()}{record.__dict__}" for record in ours)


@pytest.mark.parametrize("path", ["/mpc", "/sse", "/mcp/x"])
async def test_a_client_of_mcp_at_a_wrong_path_is_told_the_right_one(path: str) -> None:
    async with (
        hosted(toy_app()) as url,
        streamable_http_client(f"{url}{path}") as streams,
        ClientSession(streams[0], streams[1]) as session,
    ):
        with pytest.raises(MCPError, match="MCP is at /mcp"):
            await session.initialize()


async def test_whoever_posts_for_json_alone_is_no_client_of_mcp() -> None:
    async with hosted(toy_app()) as url, httpx.AsyncClient(headers={"accept": "application/json"}) as client:
        answer = await client.post(f"{url}/mpc", json={})

    assert list(answer.json()) == ["detail"]

"""What the official MCP client shows its agent where a server refuses it below the tools."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp.client.session import ClientSession
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from tests.auth.servers import NAMED, PROJECT, SERVER_TOKEN, Server, bearer, open_server

PATHS = ["/mcp", "/api/", "/mail"]
SETTINGS = {"HTTP_BEARER_TOKEN": SERVER_TOKEN, "HTTP_ALLOW_LOCALHOST_UNAUTHENTICATED": "false", "HTTP_PATH": "/mail"}


@asynccontextmanager
async def connected(server: Server, headers: Mapping[str, str], path: str = "/mcp") -> AsyncIterator[ClientSession]:
    async with (
        httpx2.AsyncClient(headers=dict(headers), timeout=60) as client,
        streamable_http_client(f"{server.url}{path}", http_client=client) as streams,
        ClientSession(streams[0], streams[1]) as session,
    ):
        yield session


async def refused_at_once(server: Server, headers: Mapping[str, str], path: str = "/mcp") -> MCPError:
    async with connected(server, headers, path) as session:
        with pytest.raises(MCPError) as refused:
            await session.initialize()
    return refused.value


def said(error: MCPError) -> tuple[int, Any]:
    return error.error.code, error.error.data["status"]


@pytest.mark.parametrize("path", PATHS)
async def test_a_client_without_a_token_is_told_which(tmp_path: Path, path: str) -> None:
    async with open_server(tmp_path, **SETTINGS) as server:
        refused = await refused_at_once(server, {}, path)

    assert "This server needs its token: send Authorization: Bearer" in str(refused)
    assert said(refused) == (-32600, 401)


async def test_each_wrong_token_is_told_what_is_wrong_with_its_kind(tmp_path: Path) -> None:
    async with open_server(tmp_path, **SETTINGS) as server:
        wrong = await refused_at_once(server, bearer("a-guess"))
        agents = await refused_at_once(server, bearer(server.tokens[NAMED]))
        issued = await refused_at_once(server, bearer("amk_of-another-server"))

    assert "opens nothing here" in str(wrong)
    assert "An agent's own token belongs in X-Agent-Token" in str(agents)
    assert "revoked, has expired, or is another server's" in str(issued)
    assert [said(one) for one in (wrong, agents, issued)] == [(-32600, 401)] * 3


async def test_a_token_that_is_revoked_tells_so_at_the_next_call(tmp_path: Path) -> None:
    async with open_server(tmp_path, **SETTINGS) as server:
        number, token = await server.issue(role="writer")
        async with connected(server, bearer(token)) as session:
            await session.initialize()
            before = await session.call_tool("health_check", {})
            await server.call("revoke_issued_token", issued_token_id=number)
            with pytest.raises(MCPError, match="revoked, has expired, or is another server's") as refused:
                await session.call_tool("health_check", {})

    assert (before.is_error, said(refused.value)) == (False, (-32600, 401))


async def test_a_call_that_is_too_large_tells_what_to_do(tmp_path: Path) -> None:
    async with open_server(tmp_path, **SETTINGS) as server, connected(server, bearer(SERVER_TOKEN)) as session:
        await session.initialize()
        with pytest.raises(MCPError, match="over 4 MiB") as refused:
            await session.call_tool("send_message", {"project_key": PROJECT, "body_md": "x" * (5 << 20)})

    assert said(refused.value) == (-32600, 413)


async def test_a_client_that_asks_too_often_is_told_when_to_come_again(tmp_path: Path) -> None:
    limits = {"HTTP_RATE_LIMIT_ENABLED": "true", "HTTP_RATE_LIMIT_PER_MINUTE": "2"}
    async with (
        open_server(tmp_path, **SETTINGS, **limits) as server,
        connected(server, bearer(SERVER_TOKEN)) as session,
    ):
        await session.initialize()
        with pytest.raises(MCPError, match="Too many") as refused:
            await session.list_tools()

    assert said(refused.value) == (-32600, 429)
    assert refused.value.error.data["retry_after_s"] > 0


async def test_a_foreign_page_or_name_of_the_server_is_told(tmp_path: Path) -> None:
    async with open_server(tmp_path, **SETTINGS) as server:
        page = await refused_at_once(server, {**bearer(SERVER_TOKEN), "Origin": "https://evil.example"})
        name = await refused_at_once(server, {**bearer(SERVER_TOKEN), "Host": "evil.example"})

    assert "Requests from this Origin are not accepted" in str(page)
    assert "Host 'evil.example' is not served here" in str(name)
    assert [said(one) for one in (page, name)] == [(-32600, 403)] * 2

"""A call that waits and whose token is revoked meanwhile is told so, while its connection stands."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.auth.asking import ANSWERED_WITHIN_S, Answer, Asker
from tests.auth.servers import NAMED, OTHER, PROJECT, SERVER_TOKEN, Server, bearer, open_server

LONG_S = 50
_MAIL = {"project_key": PROJECT, "agent_name": NAMED, "timeout_s": LONG_S}
_FILE = {"project_key": PROJECT, "agent_name": NAMED, "paths": ["held.txt"], "exclusive": True}


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Server]:
    doors = {"POSTAL_MAX_WAIT_SECONDS": str(LONG_S)}
    async with open_server(tmp_path, HTTP_BEARER_TOKEN=SERVER_TOKEN, **doors) as opened:
        held = {**_FILE, "agent_name": OTHER}
        await opened.call("file_reservation_paths", **held)
        yield opened


async def mail(asker: Asker, headers: dict[str, str]) -> Answer:
    return await asker.ask("POST", "/rpc/wait_for_messages", headers, _MAIL)


async def mail_over_mcp(asker: Asker, headers: dict[str, str]) -> Answer:
    return await asker.call_over_mcp("wait_for_messages", headers, _MAIL)


async def mail_over_rest(asker: Asker, headers: dict[str, str]) -> Answer:
    where = f"/rest/v1/wait?project={PROJECT}&agent_name={NAMED}&timeout_s={LONG_S}"
    return await asker.ask("GET", where, headers)


async def lease(asker: Asker, headers: dict[str, str]) -> Answer:
    return await asker.ask("POST", "/rpc/file_reservation_paths", headers, {**_FILE, "wait_seconds": LONG_S})


async def lease_over_mcp(asker: Asker, headers: dict[str, str]) -> Answer:
    return await asker.call_over_mcp("file_reservation_paths", headers, {**_FILE, "wait_seconds": LONG_S})


async def mail_at_a_door(asker: Asker, headers: dict[str, str]) -> Answer:
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "check_mail", "arguments": {}}}
    return await asker.ask("POST", "/agents/bob/mcp", {"MCP-Protocol-Version": "2025-06-18", **headers}, message)


async def windows_at_a_door(asker: Asker, headers: dict[str, str]) -> Answer:
    asked = {"project": PROJECT, "name": NAMED, "windows": [], "wait_s": 20}
    seen = (await asker.ask("POST", "/agentmail/watch", headers, asked)).value["seen"]
    return await asker.ask("POST", "/agentmail/watch", headers, {**asked, "seen": seen})


PLAIN = [mail, mail_over_rest, lease, windows_at_a_door]
OVER_MCP = [mail_over_mcp, lease_over_mcp]


async def revoked_while(server: Server, way: Any) -> Answer:
    """The answer of a call that waited as its token was revoked."""
    number, text = await server.issue(role="writer")
    async with Asker(server.url) as asker:
        waiting = asyncio.create_task(way(asker, bearer(text)))
        async with asyncio.timeout(ANSWERED_WITHIN_S):
            while not await _is_used(server, number):
                assert not waiting.done(), waiting
        await server.call("revoke_issued_token", issued_token_id=number)
        answer: Answer = await waiting
    return answer


async def _is_used(server: Server, number: int) -> bool:
    (token,) = (one for one in await server.call("list_issued_tokens") if one["id"] == number)
    return token["last_used_ts"] is not None


@pytest.mark.parametrize("way", PLAIN, ids=lambda way: way.__name__)
async def test_it_is_told_that_its_token_counts_no_longer(way: Any, server: Server) -> None:
    answer = await revoked_while(server, way)

    error = answer.value["error"]
    assert (answer.status, error["type"]) == (401, "AUTHENTICATION_REQUIRED")
    assert error["message"].startswith("The token that this call came with counts no longer")


@pytest.mark.parametrize("way", OVER_MCP, ids=lambda way: way.__name__)
async def test_over_mcp_it_is_a_refusal_of_the_tool(way: Any, server: Server) -> None:
    result = (await revoked_while(server, way)).value["result"]

    assert (result["isError"], result["structuredContent"]["error"]["type"]) == (True, "AUTHENTICATION_REQUIRED")


async def test_so_it_is_at_a_door_over_mcp(server: Server) -> None:
    result = (await revoked_while(server, mail_at_a_door)).value["result"]

    assert result["isError"]
    assert "counts no longer" in result["content"][0]["text"]


async def test_what_a_revoked_call_waited_for_is_anothers(server: Server) -> None:
    await revoked_while(server, lease)
    await server.call("release_file_reservations", project_key=PROJECT, agent_name=OTHER)

    granted = await server.call("file_reservation_paths", **{**_FILE, "agent_name": OTHER})

    assert [one["path_pattern"] for one in granted["granted"]] == ["held.txt"]

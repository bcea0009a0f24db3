"""Refusals below the tools as clients of MCP read them, who show nothing but JSON-RPC errors."""

from __future__ import annotations

import orjson
import pytest
from starlette.types import Message, Send

from mcp_agent_mail.server.edge.admitted import HttpRefusal
from mcp_agent_mail.server.rendering.responses import (
    refusing_over_mcp,
    send_detail,
    send_json,
    send_refusal,
    send_text,
    send_value,
)


def kept() -> tuple[list[Message], Send]:
    sent: list[Message] = []

    async def keep(message: Message) -> None:
        sent.append(message)

    return sent, keep


async def test_a_refusal_has_a_json_rpc_error_beside_what_it_says_and_the_same_status_and_headers() -> None:
    refusal = HttpRefusal(status=429, detail="Too often.", headers=((b"x-one", b"1"),), retry_after_s=1.5)
    sent, send = kept()

    await send_refusal(refusing_over_mcp(send), refusal)

    start, body = sent
    said = {"detail": "Too often.", "retry_after_s": 1.5}
    error = {"code": -32600, "message": "Too often.", "data": {"status": 429, "retry_after_s": 1.5}}
    assert orjson.loads(body["body"]) == {"jsonrpc": "2.0", "id": None, "error": error, **said}
    assert start["status"] == 429
    assert dict(start["headers"]) == {
        b"content-type": b"application/json",
        b"content-length": str(len(body["body"])).encode(),
        b"x-one": b"1",
        b"retry-after": b"2",
    }


@pytest.mark.parametrize(("status", "code"), [(400, -32600), (413, -32600), (500, -32603), (503, -32603)])
async def test_the_servers_own_trouble_is_another_code_than_a_request_that_is_not_served(
    status: int, code: int
) -> None:
    sent, send = kept()

    await send_detail(refusing_over_mcp(send), status, "No.")

    assert orjson.loads(sent[1]["body"])["error"] == {"code": code, "message": "No.", "data": {"status": status}}


async def test_what_is_no_refusal_of_ours_stays_as_it_is() -> None:
    error = {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "No."}}
    plain, through = kept(), kept()

    for send in (plain[1], refusing_over_mcp(through[1])):
        await send_value(send, 200, {"detail": "Of a result."})
        await send_value(send, 404, error)
        await send_value(send, 404, {"detail": "No.", "jsonrpc": "2.0", "id": 1, "result": {}})
        await send_value(send, 401, {"error": {"type": "AUTHENTICATION_REQUIRED"}})
        await send_json(send, 400, b"[1]")
        await send_json(send, 405, b"")
        await send_text(send, 400, "text/plain", "detail")

    assert through[0] == plain[0]

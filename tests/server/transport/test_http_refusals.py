"""Refusals before any application: to clients of MCP as they read them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcp_agent_mail.server.transport.http_refusals import NO_ROOM, refusal_answer


def body_of(target: bytes) -> dict[str, Any]:
    head, _, body = refusal_answer(NO_ROOM.status, NO_ROOM.detail, [], target=target).partition(b"\r\n\r\n")
    assert b"content-length: %d" % len(body) in head
    value: dict[str, Any] = json.loads(body)
    return value


@pytest.mark.parametrize("target", [b"/mcp", b"/mcp/", b"/api?profile=core"])
def test_on_a_path_of_mcp_it_is_an_error_of_json_rpc_too(target: bytes) -> None:
    told = body_of(target)

    assert (told["jsonrpc"], told["id"], told["error"]["code"]) == ("2.0", None, -32603)
    assert told["error"]["message"] == told["detail"]
    assert told["detail"].endswith("Nothing was done; send it again.")


@pytest.mark.parametrize("target", [b"", b"/rpc/send_message", b"/mcpx", b"/x/mcp"])
def test_elsewhere_it_is_a_detail_alone(target: bytes) -> None:
    assert list(body_of(target)) == ["detail"]

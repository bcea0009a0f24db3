"""Refusals before any application: to clients of MCP as they read them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mcp_agent_mail.server.edge.paths import both_forms
from mcp_agent_mail.server.transport.http_refusals import NO_ROOM, refusal_answer

MCP_PATHS = both_forms(("/mcp", "/api", "/mail/box"))


def body_of(target: bytes) -> dict[str, Any]:
    answer = refusal_answer(NO_ROOM.status, NO_ROOM.detail, [], target=target, speaks_mcp=MCP_PATHS.__contains__)
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b"content-length: %d" % len(body) in head
    value: dict[str, Any] = json.loads(body)
    return value


@pytest.mark.parametrize(
    "target",
    [
        b"/mcp",
        b"/mcp/",
        b"/api?profile=core",
        b"/mail/box",
        b"/mail/box/?profile=core",
        b"http://host:8765/mcp",
        b"http://host/mail/box?to=http://a/b",
        b"/%6dcp",
    ],
)
def test_on_a_path_of_mcp_it_is_an_error_of_json_rpc_too(target: bytes) -> None:
    told = body_of(target)

    assert (told["jsonrpc"], told["id"], told["error"]["code"]) == ("2.0", None, -32603)
    assert told["error"]["message"] == told["detail"]
    assert told["detail"].endswith("Nothing was done; send it again.")


@pytest.mark.parametrize(
    "target",
    [
        b"",
        b"/rpc/send_message",
        b"/mcpx",
        b"/x/mcp",
        b"/mail",
        b"http://host",
        b"http://host?/mcp",
        b"http://mcp/",
        b"/x?http://host/mcp",
        b"/\xff",
    ],
)
def test_elsewhere_it_is_a_detail_alone(target: bytes) -> None:
    assert list(body_of(target)) == ["detail"]

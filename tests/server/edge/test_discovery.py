"""What clients find below `/.well-known/` before they sign in."""

from __future__ import annotations

import json
from typing import Any

import pytest
from starlette.types import Message

from mcp_agent_mail.server.edge.discovery import RESOURCE, Discovery, SignIn

SIGN_IN = SignIn(base_url="https://mail.example", issuer="https://id.example/realms/mail")
NOTHING = (404, {"mcp_oauth": False})


async def found(sign_in: SignIn | None, path: str) -> tuple[int, Any]:
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    await Discovery(sign_in, {"/mcp", "/mcp/", "/api"}).answer(path, send)
    return sent[0]["status"], json.loads(sent[1]["body"])


@pytest.mark.parametrize(
    ("path", "resource"),
    [
        (RESOURCE, "https://mail.example"),
        (f"{RESOURCE}/mcp", "https://mail.example/mcp"),
        (f"{RESOURCE}/mcp/", "https://mail.example/mcp"),
        (f"{RESOURCE}/api", "https://mail.example/api"),
    ],
)
async def test_the_document_says_who_issues_tokens_for_the_path(path: str, resource: str) -> None:
    assert await found(SIGN_IN, path) == (
        200,
        {
            "resource": resource,
            "authorization_servers": ["https://id.example/realms/mail"],
            "scopes_supported": ["reader", "writer", "operator"],
            "bearer_methods_supported": ["header"],
        },
    )


@pytest.mark.parametrize(
    "path",
    [
        f"{RESOURCE}/rpc/send_message",
        f"{RESOURCE}x",
        f"{RESOURCE}/",
        "/.well-known/oauth-authorization-server",
        "/.well-known/oauth-authorization-server/mcp",
        "/.well-known/openid-configuration",
        "/.well-known/",
    ],
)
async def test_nothing_else_is_found(path: str) -> None:
    assert await found(SIGN_IN, path) == NOTHING


@pytest.mark.parametrize("path", [RESOURCE, f"{RESOURCE}/mcp", "/.well-known/oauth-authorization-server"])
async def test_where_nobody_issues_tokens_nothing_is_found(path: str) -> None:
    assert await found(None, path) == NOTHING


def test_a_401_names_the_document() -> None:
    assert SIGN_IN.challenge() == (
        b'Bearer resource_metadata="https://mail.example/.well-known/oauth-protected-resource"'
    )

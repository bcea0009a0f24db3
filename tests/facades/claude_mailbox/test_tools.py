"""The five tools over MCP, by the official client and as both protocol eras write them, at a real server."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
from mcp.client.session import ClientSession
from mcp.client.streamable_http import streamable_http_client

from tests.facades.claude_mailbox.mailbox_server import MailboxServer

ACCEPT = {"Accept": "application/json, text/event-stream"}


@asynccontextmanager
async def connected(server: MailboxServer, name: str | None = None, path: str = "/mcp") -> AsyncIterator[ClientSession]:
    headers = {} if name is None else {"X-Mailbox": name}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60) as http_client,
        streamable_http_client(f"{server.url}{path}", http_client=http_client) as streams,
        ClientSession(streams[0], streams[1]) as session,
    ):
        await session.initialize()
        yield session


async def call(session: ClientSession, tool: str, /, **arguments: Any) -> Any:
    """The text, as JSON, of a call that must succeed; programs are given the same."""
    result = await session.call_tool(tool, arguments)
    assert not result.is_error, result.content
    (content,) = result.content
    value = json.loads(content.text)  # type: ignore[union-attr]  # text
    assert result.structured_content == ({"result": value} if isinstance(value, list) else value)
    return value


async def refused(session: ClientSession, tool: str, /, **arguments: Any) -> str:
    result = await session.call_tool(tool, arguments)
    assert result.is_error, result.content
    (content,) = result.content
    return str(content.text)  # type: ignore[union-attr]  # text


@pytest.mark.parametrize("path", ["/mcp", "/mcp/"])
async def test_exactly_five_tools_are_listed_with_their_arguments(server: MailboxServer, path: str) -> None:
    async with connected(server, "t-lists", path) as session:
        listed = {tool.name: tool.input_schema for tool in (await session.list_tools()).tools}

    assert list(listed) == ["send", "check_inbox", "peek_inbox", "list_mailboxes", "rename"]
    arguments = {name: (sorted(schema["properties"]), schema.get("required", [])) for name, schema in listed.items()}
    assert arguments == {
        "send": (["body", "from", "to"], ["to", "body"]),
        "check_inbox": (["name"], []),
        "peek_inbox": (["name"], []),
        "list_mailboxes": (["name"], []),
        "rename": (["from", "to"], ["to"]),
    }


async def test_by_the_header_alone_mail_goes_there_and_is_taken_there(server: MailboxServer) -> None:
    async with connected(server, "t-alice") as alice, connected(server, "t-bob") as bob:
        sent = await call(alice, "send", to="t-bob", body="hi ✓\nthere")
        looked = [await call(bob, "peek_inbox") for _ in range(2)]
        got = await call(bob, "check_inbox")
        again = await call(bob, "check_inbox")
        after = await call(bob, "peek_inbox")

    assert list(sent) == ["id", "from", "to", "createdAt"]
    assert looked == [{"pending": 1, "oldestAt": sent["createdAt"]}] * 2
    assert got == [
        {
            "id": sent["id"],
            "from": "t-alice",
            "to": "t-bob",
            "body": "hi ✓\nthere",
            "createdAt": sent["createdAt"],
        }
    ]
    assert again == []
    assert after == {"pending": 0, "oldestAt": None}


async def test_arguments_beat_the_header_and_need_none(server: MailboxServer) -> None:
    async with connected(server, "t-header") as named, connected(server) as nameless:
        await call(named, "send", **{"from": "t-said", "to": "名前", "body": "1"})
        await call(nameless, "send", **{"from": "t-said", "to": "名前", "body": "2"})
        looked = await call(named, "peek_inbox", name="名前")
        listed = await call(nameless, "list_mailboxes", name="名前")
        got = await call(named, "check_inbox", name="名前")
        missing = [
            await refused(nameless, "send", to="t-bob", body="x"),
            await refused(nameless, "check_inbox"),
            await refused(nameless, "peek_inbox"),
            await refused(nameless, "rename", to="x"),
        ]

    assert looked["pending"] == 2
    assert [(one["from"], one["to"], one["body"]) for one in got] == [("t-said", "名前", "1"), ("t-said", "名前", "2")]
    assert {one["name"]: one["pendingForYou"] for one in listed}["t-said"] == 2
    assert [text.split(".")[0] for text in missing] == [
        "from is required",
        "name is required",
        "name is required",
        "from is required",
    ]


async def test_opening_a_connection_with_the_header_is_being_there(server: MailboxServer) -> None:
    async with connected(server, "t-opened"):
        names = server.names()

    assert "t-opened" in names


async def test_a_mailbox_is_renamed_with_its_mail(server: MailboxServer) -> None:
    async with connected(server, "t-old") as old:
        server.send("t-alice", "t-old", "1")
        renamed = await call(old, "rename", to="t-new")
        taken = await refused(old, "rename", **{"from": "t-new", "to": "t-alice"})
        missing = await refused(old, "rename", **{"from": "t-nobody", "to": "t-x"})
        invalid = await refused(old, "rename", **{"from": "t-new", "to": "a\nb"})
        got = await call(old, "check_inbox", name="t-new")

    assert renamed == {"from": "t-old", "to": "t-new", "messagesTransferred": 1}
    assert "already" in taken
    assert "There is no mailbox 't-nobody'" in missing
    assert invalid.startswith("Invalid mailbox name.")
    assert [one["body"] for one in got] == ["1"]


async def test_what_is_wrong_is_said_in_one_text(server: MailboxServer) -> None:
    async with connected(server, "t-wrong") as session:
        blank = await refused(session, "send", to=" ", body="x")
        lacks = await refused(session, "send", to="t-bob")
        more = await refused(session, "check_inbox", limit=3)
        native = await refused(session, "send_message", to="t-bob")

    assert "to" in blank
    assert "body" in lacks
    assert "limit" in more
    assert "send_message" in native


async def test_a_header_that_is_no_name_is_refused_before_anything(server: MailboxServer) -> None:
    hello = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    got = server.ask("POST", "/mcp", name="=?utf-8?q?x?=", body=hello, headers=ACCEPT)

    assert got.status == 400
    assert got.value["error"].startswith("Invalid mailbox name.")


@pytest.mark.parametrize("name", ["t-modern"])
async def test_the_stateless_era_is_served_too(server: MailboxServer, name: str) -> None:
    server.send("t-alice", name, "hi")
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "tests", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    message = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "check_inbox", "arguments": {}, "_meta": meta},
    }
    headers = {
        **ACCEPT,
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "tools/call",
        "Mcp-Name": "check_inbox",
    }

    got = server.ask("POST", "/mcp", name=name, body=message, headers=headers)

    assert got.status == 200, got
    assert [one["body"] for one in got.value["result"]["structuredContent"]["result"]] == ["hi"]


async def test_each_request_of_a_session_is_of_whom_its_header_says(server: MailboxServer) -> None:
    server.send("t-alice", "t-second", "hi")
    hello = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-03-26",
            "capabilities": {},
            "clientInfo": {"name": "tests", "version": "1"},
        },
    }
    opened = server.ask("POST", "/mcp", name="t-first", body=hello, headers=ACCEPT)
    session = {"Mcp-Session-Id": opened.headers["mcp-session-id"], **ACCEPT}
    take = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "check_inbox", "arguments": {}}}

    got = server.ask("POST", "/mcp", name="t-second", body=take, headers=session)

    assert [one["to"] for one in got.value["result"]["structuredContent"]["result"]] == ["t-second"]

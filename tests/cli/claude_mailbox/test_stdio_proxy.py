"""MCP on standard input and output: the server's tools, listed without it and called through it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from mcp_agent_mail.cli.stdio.messages import MAX_LINE_BYTES
from tests.cli.claude_mailbox.mailbox_program import MailboxProgram
from tests.facades.claude_mailbox.mailbox_server import MailboxServer

HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "tests", "version": "1"}}


class Stdio:
    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.ids = 0

    def line(self, line: bytes) -> Any:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def ask(self, method: str, params: Any = None) -> Any:
        self.ids += 1
        return self.line(
            json.dumps({"jsonrpc": "2.0", "id": self.ids, "method": method, "params": params or {}}).encode()
        )

    def call(self, tool: str, /, **arguments: Any) -> Any:
        return self.ask("tools/call", {"name": tool, "arguments": arguments})["result"]


@contextmanager
def opened(program: MailboxProgram, *arguments: str) -> Iterator[Stdio]:
    process = program.started("mcp-stdio", *arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    stdio = Stdio(process)
    try:
        yield stdio
    finally:
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(30) == 0
        assert process.stdout is not None
        process.stdout.close()


def test_it_lists_what_the_server_lists(server: MailboxServer, program: MailboxProgram) -> None:
    listing = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}
    accept = {"Accept": "application/json, text/event-stream"}
    session = server.ask("POST", "/mcp", body=listing, headers=accept).headers["mcp-session-id"]
    ask = {"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}}
    of_server = server.ask("POST", "/mcp", body=ask, headers={**accept, "Mcp-Session-Id": session}).value["result"]

    with opened(program) as stdio:
        of_proxy = stdio.ask("tools/list")["result"]

    assert of_proxy["tools"] == of_server["tools"]


def test_calls_go_to_the_server_and_come_back(program: MailboxProgram) -> None:
    with opened(program, "--name", "p-alice") as stdio:
        hello = stdio.ask("initialize", HELLO)["result"]
        sent = stdio.call("send", to="p-名前", body="hi ✓")
        stdio.call("send", **{"from": "p-other", "to": "p-名前", "body": "2"})
        got = stdio.call("check_inbox", name="p-名前")
        wrong = stdio.call("send", to=" ", body="x")
        unknown = stdio.call("nothing")
        ping = stdio.ask("ping")["result"]

    assert (hello["protocolVersion"], hello["serverInfo"]["name"]) == ("2025-06-18", "claude-mailbox")
    assert sent["isError"] is False
    assert json.loads(sent["content"][0]["text"]) == sent["structuredContent"]
    assert [(one["from"], one["body"]) for one in got["structuredContent"]["result"]] == [
        ("p-alice", "hi ✓"),
        ("p-other", "2"),
    ]
    assert wrong["isError"] is True
    assert unknown["isError"] is True
    assert ping == {}


def test_without_a_server_tools_are_listed_and_calls_say_so(alone: MailboxProgram) -> None:
    with opened(alone) as stdio:
        tools = stdio.ask("tools/list")["result"]["tools"]
        called = stdio.call("peek_inbox", name="bob")

    assert [tool["name"] for tool in tools] == ["send", "check_inbox", "peek_inbox", "list_mailboxes", "rename"]
    assert called["isError"] is True
    assert called["content"][0]["text"].startswith("no server answers at http://127.0.0.1:9")


def test_what_is_no_message_is_answered_and_the_next_one_goes_on(alone: MailboxProgram) -> None:
    with opened(alone) as stdio:
        broken = stdio.line(b"{")
        not_utf8 = stdio.line(b'"\xff"')
        none = stdio.line(b"[]")
        method = stdio.ask("resources/list")
        params = stdio.ask("tools/call", {"arguments": {}})
        assert stdio.process.stdin is not None
        stdio.process.stdin.write(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}\n\n')
        after = stdio.ask("ping")

    assert [one["error"]["code"] for one in (broken, not_utf8, none, method, params)] == [
        -32700,
        -32700,
        -32600,
        -32601,
        -32602,
    ]
    assert (broken["id"], after["result"]) == (None, {})


@pytest.mark.parametrize(
    "message",
    [
        {"id": 1, "method": "ping"},
        {"jsonrpc": "1.0", "id": 1, "method": "ping"},
        {"jsonrpc": "2.0", "id": {"a": 1}, "method": "tools/list"},
    ],
)
def test_what_is_no_request_of_the_protocol_gets_no_result(message: Any, alone: MailboxProgram) -> None:
    with opened(alone) as stdio:
        refused = stdio.line(json.dumps(message).encode())
        after = stdio.ask("ping")

    assert refused == {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "Invalid Request"}}
    assert after["result"] == {}


def test_a_line_of_five_megabytes_is_one_message(alone: MailboxProgram) -> None:
    params = {"name": "send", "arguments": {"to": "bob", "body": "\x01" * (5 << 18)}}
    message = {"jsonrpc": "2.0", "id": "s", "method": "tools/call", "params": params}
    with opened(alone) as stdio:
        broken = stdio.line(b"x" * (5 << 20))
        called = stdio.line(json.dumps(message).encode())
        after = stdio.ask("ping")

    assert (broken["id"], broken["error"]["code"]) == (None, -32700)
    assert (called["id"], called["result"]["isError"]) == ("s", True)
    assert after["result"] == {}


def test_a_line_that_is_too_long_is_refused_once_and_the_next_is_served(alone: MailboxProgram) -> None:
    with opened(alone) as stdio:
        refused = stdio.line(b"x" * (MAX_LINE_BYTES * 2))
        after = stdio.ask("ping")

    assert (refused["id"], refused["error"]["code"]) == (None, -32600)
    assert after["result"] == {}

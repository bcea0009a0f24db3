"""Whose a tool is that is about to be called."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_agent_mail.clients.contracts.reader import CLIENTS, can_refuse, read_contract
from mcp_agent_mail.clients.hook.our_tools import OF_MAIL, OF_SERVER, REGISTERING, is_ours
from mcp_agent_mail.clients.hook.payload import HookPayload
from mcp_agent_mail.core.profiles import TOOLS
from tests.clients.payloads import payload

OURS: dict[str, dict[str, Any]] = {
    "claude": {"tool_name": "mcp__agent-mail__fetch_inbox"},
    "codex": {"tool_name": "mcp__mcp_agent_mail__list_threads"},
    "gemini": {"tool_name": "mcp__agent-mail__fetch_inbox"},
    "cursor": {"tool_name": "MCP:fetch_inbox"},
    "opencode": {"tool": "agent-mail_fetch_inbox"},
    "copilot": {"toolName": "agent-mail-fetch_inbox"},
    "windsurf": {"tool_info": {"mcp_server_name": "agent-mail", "mcp_tool_name": "fetch_inbox"}},
    "cline": {
        "preToolUse": {
            "toolName": "use_mcp_tool",
            "parameters": {"server_name": "agent-mail", "tool_name": "fetch_inbox"},
        }
    },
    "droid": {"tool_name": "mcp__agent-mail__fetch_inbox"},
    "amp": {"tool": "mcp__agent-mail__fetch_inbox"},
}


def _is_ours(client: str, **more: Any) -> bool:
    contract = read_contract(client)
    event = next(name for name, one in contract["events"].items() if one["moment"] == "before_tool")
    return is_ours(contract, HookPayload(contract, payload(client, event, "/code", **more)))


@pytest.mark.parametrize("client", CLIENTS)
def test_a_call_of_our_server_is_known_in_each_client_and_an_edit_is_not(client: str) -> None:
    assert _is_ours(client, **OURS[client])
    assert not _is_ours(client)


@pytest.mark.parametrize("tool", ["mcp__github__fetch_inbox", "fetch_inbox", "xmcp__agent-mail__fetch_inbox", ""])
def test_what_only_looks_like_one_is_not(tool: str) -> None:
    assert not _is_ours("claude", tool_name=tool)


@pytest.mark.parametrize(
    ("client", "more"),
    [
        ("opencode", {"tool": "agent-mail_evil_delete_all"}),
        ("opencode", {"tool": "agent-mail_evil_fetch_inbox"}),
        ("copilot", {"toolName": "agent-mail-other-run"}),
        ("copilot", {"toolName": "agent-mail-other-fetch_inbox"}),
        ("claude", {"tool_name": "mcp__agent-mail__delete_all"}),
        ("gemini", {"tool_name": "mcp__agent-mail__"}),
        ("cursor", {"tool_name": "MCP:health_check"}),
        ("windsurf", {"tool_info": {"mcp_server_name": "agent-mail", "mcp_tool_name": "delete_all"}}),
        ("cline", {"preToolUse": {"parameters": {"server_name": "agent-mail", "tool_name": ["fetch_inbox"]}}}),
    ],
)
def test_a_name_that_only_begins_like_ours_is_another_servers(client: str, more: dict[str, Any]) -> None:
    assert not _is_ours(client, **more)


READING = [
    *("register_agent", "create_agent_identity", "macro_start_session", "fetch_inbox", "fetch_topic"),
    "read_mail",
    *("mark_message_read", "acknowledge_message", "reply_message", "send_message"),
]


@pytest.mark.parametrize("tool", READING)
def test_a_client_that_does_not_say_whose_a_tool_is_may_call_what_mail_is_read_and_answered_by(tool: str) -> None:
    assert _is_ours("cursor", tool_name=f"MCP:{tool}")
    assert not _is_ours("cursor", tool_name=tool)
    assert not _is_ours("cursor", tool_name=f"MCP:{tool}s")


def test_a_client_that_does_not_say_whose_a_tool_is_may_call_no_other() -> None:
    assert sorted(OF_MAIL) == sorted(READING)
    assert not _is_ours("cursor", tool_name="MCP:run_command")


@pytest.mark.parametrize("server", ["github", "agent-mail-of-another", ""])
def test_a_server_of_another_name_is_not_ours(server: str) -> None:
    assert not _is_ours("windsurf", tool_info={"mcp_server_name": server, "mcp_tool_name": "fetch_inbox"})
    named = {"toolName": "use_mcp_tool", "parameters": {"server_name": server, "tool_name": "fetch_inbox"}}
    assert not _is_ours("cline", preToolUse=named)


def test_the_tools_are_those_that_the_server_has() -> None:
    assert frozenset(TOOLS) == OF_SERVER
    assert {*OF_MAIL, *REGISTERING} <= OF_SERVER


def test_each_of_the_ten_can_refuse_a_call() -> None:
    assert [client for client in CLIENTS if not can_refuse(read_contract(client))] == []

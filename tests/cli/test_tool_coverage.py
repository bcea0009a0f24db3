"""Every tool has a command, or a reason why it has none: walked over the server's own table and the real commands."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import typer

from mcp_agent_mail.cli.app import ENTRIES
from mcp_agent_mail.cli.hints import COMMANDS as TOLD
from mcp_agent_mail.core.tools import ToolSpec
from tests.server.reference_pages import declared

COMMAND_OF: Mapping[str, str] = {
    "acknowledge_message": "mail ack",
    "acquire_build_slot": "run",
    "archive_project": "projects archive",
    "checkout_archive_month": "archive checkout",
    "contact_requests": "contacts requests",
    "create_join_code": "projects invite",
    "create_sign_in_link": "web",
    "deregister_agent": "agents retire",
    "ensure_product": "products ensure",
    "ensure_project": "projects ensure",
    "expire_window": "agents expire-window",
    "fetch_inbox": "mail inbox",
    "fetch_inbox_product": "products inbox",
    "fetch_summary": "mail summary",
    "fetch_topic": "mail topic",
    "force_release_file_reservation": "reservations release",
    "health_check": "status",
    "heartbeat": "hook",
    "held_mail": "mail held",
    "hook_event": "hook",
    "hook_told": "hook",
    "hook_wait": "wait",
    "import_content": "import postal",
    "import_records": "import postal",
    "install_precommit_guard": "guard install",
    "link_door_name": "facade link",
    "list_agents": "agents list",
    "list_contacts": "contacts list",
    "list_door_names": "facade names",
    "list_doors": "facade status",
    "list_guard_events": "guard log",
    "list_join_codes": "projects codes",
    "list_threads": "mail threads",
    "list_window_identities": "agents windows",
    "message_status": "mail status",
    "owed_acknowledgements": "acks pending",
    "products_link": "products link",
    "purge_old_messages": "mail purge",
    "read_mail": "mail read",
    "create_issued_token": "token create",
    "list_issued_tokens": "token list",
    "reissue_token": "token reissue",
    "revoke_issued_token": "token revoke",
    "release_build_slot": "run",
    "release_file_reservations": "reservations release",
    "remind_acknowledgements": "acks remind",
    "rename_window": "agents rename-window",
    "renew_build_slot": "run",
    "reply_message": "mail reply",
    "respond_contact": "contacts approve",
    "revoke_join_code": "projects revoke-code",
    "search_messages": "mail search",
    "search_messages_product": "products search",
    "send_message": "mail send",
    "set_contact_policy": "contacts policy",
    "set_status": "agents status",
    "summarize_recent": "mail summary",
    "summarize_thread": "mail summary",
    "summarize_thread_product": "products summary",
    "unarchive_project": "projects unarchive",
    "uninstall_precommit_guard": "guard uninstall",
    "unlink_door_name": "facade unlink",
    "unretire_agent": "agents unretire",
    "wait_for_messages": "wait",
    "whois": "agents show",
    "withdraw_message": "mail withdraw",
}
"""By tool the command that does it for a person, whichever way it goes."""

_AGENTS_OWN = "an agent's own act over MCP"
NO_COMMAND: Mapping[str, str] = {
    "register_agent": f"{_AGENTS_OWN}: who registers gets the token, and speaks as it",
    "create_agent_identity": f"{_AGENTS_OWN}: as register_agent, under a name of the server's choice",
    "request_contact": f"{_AGENTS_OWN}: the operator needs nobody's consent, and approves for others without a request",
    "mark_message_read": f"{_AGENTS_OWN}: a person's looking marks nothing, and am mail ack and reply their own",
    "file_reservation_paths": f"{_AGENTS_OWN}: who edits holds",
    "check_file_reservation_conflicts": f"{_AGENTS_OWN}, before it edits; a person sees who holds what",
    "renew_file_reservations": f"{_AGENTS_OWN}: who edits goes on holding",
    "fetch_inbox_events": "a feed for programs that keep its cursor; a shell waits with am wait",
    "macro_start_session": f"{_AGENTS_OWN}: several calls of its start in one",
    "macro_prepare_thread": f"{_AGENTS_OWN}: several calls of its start in one",
    "macro_file_reservation_cycle": f"{_AGENTS_OWN}: a reservation with its release",
    "macro_contact_handshake": f"{_AGENTS_OWN}: a request with its answer",
}
"""By tool why there is none."""


def _commands(command: Any, words: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    """The commands below, without the groups that only hold them."""
    below = getattr(command, "commands", {})
    if not below:
        yield " ".join(words), command
    for name, one in below.items():
        yield from _commands(one, (*words, name))


@pytest.fixture(scope="module")
def tree() -> Mapping[str, Any]:
    """Every command of `am` by its words."""
    roots = ((name, typer.main.get_command(importlib.import_module(one.module).app)) for name, one in ENTRIES.items())
    return dict(found for name, root in roots for found in _commands(root, (name,)))


@pytest.fixture(scope="module")
def tools() -> list[ToolSpec]:
    return declared()[0]


def missing(tools: list[ToolSpec]) -> list[str]:
    return sorted(spec.name for spec in tools if spec.name not in COMMAND_OF and spec.name not in NO_COMMAND)


def test_every_tool_has_a_command_or_a_reason(tools: list[ToolSpec]) -> None:
    assert missing(tools) == []


def test_a_new_tool_is_noticed(tools: list[ToolSpec]) -> None:
    from mcp_agent_mail.core.tools import tool

    async def brand_new() -> None: ...

    assert missing([*tools, tool(brand_new, cluster="toys", title="New")]) == ["brand_new"]


def test_no_row_outlives_its_tool_and_none_has_two(tools: list[ToolSpec]) -> None:
    names = {spec.name for spec in tools}

    assert sorted((COMMAND_OF.keys() | NO_COMMAND.keys()) - names) == []
    assert sorted(COMMAND_OF.keys() & NO_COMMAND.keys()) == []


def test_each_command_of_the_table_is_one_of_am(tree: Mapping[str, Any]) -> None:
    assert sorted(set(COMMAND_OF.values()) - tree.keys()) == []


def test_what_is_the_operators_alone_has_a_command(tools: list[ToolSpec]) -> None:
    """No MCP client can do it."""
    assert [spec.name for spec in tools if spec.operator_only and spec.name not in COMMAND_OF] == []


def test_hints_name_commands_that_there_are(tree: Mapping[str, Any]) -> None:
    known = {f"am {words}" for words in tree}

    assert [told for told in TOLD.values() if not any(told == one or told.startswith(f"{one} ") for one in known)] == []

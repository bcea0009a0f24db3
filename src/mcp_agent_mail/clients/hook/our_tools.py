"""Is a tool that is called one of our server's, and which? By what the contract says of names.

A registration that passes by binds the session; and mail that asks to stop refuses none of ours, by which it is read.
"""

from __future__ import annotations

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from mcp_agent_mail.clients.contracts.reader import Contract
    from mcp_agent_mail.clients.hook.payload import HookPayload

    # Any: what a tool is called with.
    Json = Any

SERVERS = ("agent-mail", "agent_mail", "mcp-agent-mail", "mcp_agent_mail")
"""By which names clients know our server; the first is the one that setup writes."""

REGISTERING = ("register_agent", "create_agent_identity", "macro_start_session")
OF_MAIL = (
    *REGISTERING,
    *("fetch_inbox", "fetch_topic", "read_mail", "mark_message_read", "acknowledge_message"),
    *("reply_message", "send_message"),
)
"""Those by which mail is read and answered: of clients that do not say whose a tool is, these alone."""

OF_SERVER = frozenset(
    (
        *("health_check", "ensure_project", "install_precommit_guard", "uninstall_precommit_guard"),
        *("archive_project", "unarchive_project"),
        *("register_agent", "create_agent_identity", "whois", "list_agents", "deregister_agent", "unretire_agent"),
        *("set_status", "list_window_identities", "rename_window", "expire_window"),
        *("send_message", "reply_message", "fetch_inbox", "fetch_topic", "read_mail", "list_threads"),
        *("mark_message_read", "acknowledge_message", "purge_old_messages"),
        *("message_status", "wait_for_messages", "fetch_inbox_events", "withdraw_message"),
        *("request_contact", "respond_contact", "list_contacts", "set_contact_policy"),
        *("file_reservation_paths", "release_file_reservations", "renew_file_reservations"),
        *("force_release_file_reservation", "check_file_reservation_conflicts"),
        *("search_messages", "summarize_thread", "summarize_recent", "fetch_summary"),
        *("macro_start_session", "macro_prepare_thread", "macro_file_reservation_cycle", "macro_contact_handshake"),
        *("acquire_build_slot", "renew_build_slot", "release_build_slot"),
        *("ensure_product", "products_link", "search_messages_product", "fetch_inbox_product"),
        "summarize_thread_product",
    )
)
"""All that our server has. A name that begins like ours and goes on otherwise is another server's."""


def is_ours(contract: Contract, payload: HookPayload) -> bool:
    return our_call(contract, payload)[0] != ""


def our_call(contract: Contract, payload: HookPayload) -> tuple[str, Mapping[str, Json]]:
    """Which tool of ours is called, and with what; an empty name for any other call."""
    how = contract["mcp_tool"]
    if how["pattern"] is not None:
        return _named(how["pattern"], payload.tool), payload.arguments
    server, tool, arguments = (payload.at(how[part]) for part in ("server", "tool", "arguments"))
    if server not in SERVERS or not isinstance(tool, str) or tool not in OF_SERVER:
        return "", {}
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError):
            arguments = {}
    return tool, arguments if isinstance(arguments, dict) else {}


def _named(pattern: str, called: str) -> str:
    """The tool of ours that a client calls so by its pattern, at whose end the tool stands."""
    known = OF_SERVER if "{server}" in pattern else OF_MAIL
    for server in SERVERS:
        before = pattern.replace("{server}", server).removesuffix("{tool}")
        if called.startswith(before) and called[len(before) :] in known:
            return called[len(before) :]
    return ""

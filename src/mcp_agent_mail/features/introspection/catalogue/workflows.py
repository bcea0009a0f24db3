"""Guidance: macros, and the sequences of calls that make a workflow."""

from __future__ import annotations

from collections.abc import Mapping

from mcp_agent_mail.features.introspection.guidance import Cluster, Guidance

_HERE = {"project_key": "/code/app"}
_PROFILE = {"program": "claude-code", "model": "opus"}

WORKFLOW_MACROS = Cluster(
    purpose="Several steps in one call.",
    tools={
        "macro_start_session": Guidance(
            use_when="You begin to work: project, identity, reservations, inbox and peers at once.",
            related=("ensure_project", "register_agent", "fetch_inbox"),
            frequency="per session",
            examples={
                "Begin with a reservation": {
                    "human_key": "/code/app",
                    **_PROFILE,
                    "task_description": "The lexer",
                    "file_reservation_paths": ["src/lexer/**"],
                }
            },
            complexity="medium",
        ),
        "macro_prepare_thread": Guidance(
            use_when="You join a thread: identity, summary and inbox at once.",
            related=("summarize_thread", "fetch_inbox"),
            frequency="often",
            examples={"Join": {**_HERE, "thread_id": "plan-1", **_PROFILE}},
            complexity="medium",
        ),
        "macro_file_reservation_cycle": Guidance(
            use_when="You reserve files for one short piece of work.",
            related=("file_reservation_paths", "release_file_reservations"),
            frequency="often",
            examples={"Reserve": {**_HERE, "agent_name": "BlueLake", "paths": ["src/lexer/**"]}},
        ),
        "macro_contact_handshake": Guidance(
            use_when="You want to write to an agent of another project.",
            related=("request_contact", "respond_contact", "send_message"),
            frequency="rare",
            examples={"Ask, with a welcome": {**_HERE, "requester": "BlueLake", "target": "RedStone"}},
            complexity="medium",
        ),
    },
)

PLAYBOOKS: Mapping[str, tuple[str, ...]] = {
    "Start a session": ("macro_start_session", "fetch_inbox", "acknowledge_message", "file_reservation_paths"),
    "Edit files that others may edit": (
        "check_file_reservation_conflicts",
        "file_reservation_paths",
        "renew_file_reservations",
        "release_file_reservations",
    ),
    "Ask and get an answer": ("send_message", "wait_for_messages", "reply_message", "acknowledge_message"),
    "Hand work over": ("summarize_thread", "send_message", "release_file_reservations", "set_status"),
    "Write to an agent of another project": ("request_contact", "respond_contact", "send_message"),
    "Resolve a conflict over files": (
        "check_file_reservation_conflicts",
        "whois",
        "send_message",
        "force_release_file_reservation",
    ),
    "Build alone": ("acquire_build_slot", "renew_build_slot", "release_build_slot"),
    "Work across repositories": ("ensure_product", "products_link", "search_messages_product", "fetch_inbox_product"),
}

"""What bad input is made of: for each tool of the contract's stage, arguments that would succeed."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SURFACE: dict[str, Any] = json.loads((Path(__file__).parents[1] / "golden" / "surface.json").read_text())
TOOLS: dict[str, Any] = SURFACE["tools"]

PROJECT = "/code/bad-input"
ARCHIVED = "/code/archived"
PRODUCT = "storefront"
WINDOW = "3f0c1f52-58a6-4c8e-9a0a-5d1b6f2a7c11"
MAX_BODY = 1024 * 1024

# What only a server that runs can say; `fill_in` puts it into a call.
REPOSITORY = "(a code repository)"
ARCHIVED_MESSAGE = "(the archived project's message)"
ARCHIVED_RESERVATION = "(the archived project's reservation)"
ENDED_RESERVATION = "(a reservation that has ended)"

INVALID = frozenset({"INVALID_INPUT"})
MISSING = frozenset({"NOT_FOUND"})
NOT_THERE = frozenset({"NOT_FOUND", "INVALID_INPUT"})
NO_RECIPIENT = frozenset({"RECIPIENT_NOT_FOUND"})
NO_SUCH_RECIPIENT = frozenset({"RECIPIENT_NOT_FOUND", "INVALID_INPUT"})
ACCEPTED = frozenset({"OK"})

PROJECT_KEYS = ("project_key", "human_key")
NAMES = ("agent_name", "sender_name", "from_agent", "requester")
BODIES = ("body_md", "welcome_body")
FEED_CURSORS = ("after", "after_cursor")
CURSORS = ("after_id", *FEED_CURSORS)
RECIPIENTS = ("to", "cc", "bcc")
TOKENS = ("registration_token", "sender_token")
REGISTERING = {("macro_start_session", "agent_name"), ("macro_prepare_thread", "agent_name")}
"""An unknown agent is made there."""


@dataclass(frozen=True, slots=True)
class Case:
    """`fits` is what the answer's type may be; `OK` among it means accepted."""

    label: str
    tool: str
    arguments: dict[str, Any]
    fits: frozenset[str]

    def __str__(self) -> str:
        return f"{self.tool}-{self.label}"


_SAMPLES: dict[str, dict[str, Any]] = {
    "health_check": {},
    "ensure_project": {"human_key": PROJECT},
    "archive_project": {"project_key": PROJECT},
    "unarchive_project": {"project_key": PROJECT},
    "register_agent": {"project_key": PROJECT, "program": "tests", "model": "none", "name": "BlueLake"},
    "create_agent_identity": {"project_key": PROJECT, "program": "tests", "model": "none"},
    "whois": {"project_key": PROJECT, "agent_name": "BlueLake"},
    "list_agents": {"project_key": PROJECT},
    "deregister_agent": {"project_key": PROJECT, "agent_name": "BlueLake"},
    "unretire_agent": {"project_key": PROJECT, "agent_name": "BlueLake"},
    "set_status": {"project_key": PROJECT, "agent_name": "BlueLake", "status": "busy"},
    "send_message": {
        "project_key": PROJECT,
        "sender_name": "BlueLake",
        "to": ["RedStone"],
        "subject": "Hello",
        "body_md": "text",
    },
    "reply_message": {"project_key": PROJECT, "message_id": 1, "sender_name": "RedStone", "body_md": "text"},
    "fetch_inbox": {"project_key": PROJECT, "agent_name": "RedStone"},
    "fetch_topic": {"project_key": PROJECT, "topic_name": "parser"},
    "read_mail": {"project_key": PROJECT, "message_id": 1},
    "list_threads": {"project_key": PROJECT},
    "mark_message_read": {"project_key": PROJECT, "agent_name": "RedStone", "message_id": 1},
    "acknowledge_message": {"project_key": PROJECT, "agent_name": "RedStone", "message_id": 1},
    "message_status": {"project_key": PROJECT, "message_id": 1, "agent_name": "BlueLake"},
    "withdraw_message": {"project_key": PROJECT, "sender_name": "BlueLake", "message_id": 1},
    "wait_for_messages": {"project_key": PROJECT, "agent_name": "RedStone", "after_cursor": 0, "timeout_s": 1},
    "fetch_inbox_events": {"project_key": PROJECT, "agent_name": "RedStone"},
    "search_messages": {"project_key": PROJECT, "query": "text"},
    "request_contact": {"project_key": PROJECT, "from_agent": "BlueLake", "to_agent": "RedStone"},
    "respond_contact": {"project_key": PROJECT, "to_agent": "RedStone", "from_agent": "BlueLake", "accept": True},
    "list_contacts": {"project_key": PROJECT, "agent_name": "BlueLake"},
    "set_contact_policy": {"project_key": PROJECT, "agent_name": "BlueLake", "policy": "auto"},
    "install_precommit_guard": {"project_key": PROJECT, "code_repo_path": REPOSITORY},
    "uninstall_precommit_guard": {"code_repo_path": REPOSITORY},
    "list_window_identities": {"project_key": PROJECT},
    "rename_window": {"project_key": PROJECT, "window_uuid": WINDOW, "new_display_name": "Reviews"},
    "expire_window": {"project_key": PROJECT, "window_uuid": WINDOW},
    "file_reservation_paths": {"project_key": PROJECT, "agent_name": "BlueLake", "paths": ["src/app.py"]},
    "release_file_reservations": {"project_key": PROJECT, "agent_name": "BlueLake"},
    "renew_file_reservations": {"project_key": PROJECT, "agent_name": "BlueLake"},
    "force_release_file_reservation": {
        "project_key": PROJECT,
        "agent_name": "RedStone",
        "file_reservation_id": ENDED_RESERVATION,
    },
    "check_file_reservation_conflicts": {"project_key": PROJECT, "agent_name": "BlueLake", "paths": ["src/app.py"]},
    "acquire_build_slot": {"project_key": PROJECT, "agent_name": "BlueLake", "slot": "frontend-build"},
    "renew_build_slot": {"project_key": PROJECT, "agent_name": "BlueLake", "slot": "frontend-build"},
    "release_build_slot": {"project_key": PROJECT, "agent_name": "BlueLake", "slot": "frontend-build"},
    "summarize_thread": {"project_key": PROJECT, "thread_id": "plan-1"},
    "summarize_recent": {"project_key": PROJECT},
    "fetch_summary": {"project_key": PROJECT},
    "ensure_product": {"name": PRODUCT},
    "products_link": {"product_key": PRODUCT, "project_key": PROJECT},
    "search_messages_product": {"product_key": PRODUCT, "query": "text"},
    "fetch_inbox_product": {"product_key": PRODUCT, "agent_name": "RedStone"},
    "summarize_thread_product": {"product_key": PRODUCT, "thread_id": "plan-1"},
    "macro_start_session": {
        "human_key": PROJECT,
        "program": "tests",
        "model": "none",
        "agent_name": "BlueLake",
        "file_reservation_paths": ["src/app.py"],
    },
    "macro_prepare_thread": {
        "project_key": PROJECT,
        "thread_id": "plan-1",
        "program": "tests",
        "model": "none",
        "agent_name": "BlueLake",
    },
    "macro_file_reservation_cycle": {"project_key": PROJECT, "agent_name": "BlueLake", "paths": ["src/app.py"]},
    "macro_contact_handshake": {"project_key": PROJECT, "requester": "BlueLake", "target": "RedStone"},
    "purge_old_messages": {"project_key": PROJECT, "max_age_days": 30, "dry_run": False},
}
VALID = {tool: arguments for tool, arguments in _SAMPLES.items() if tool in TOOLS}
"""Arguments that would succeed, from which every bad call is made by one change."""


def fill_in(arguments: dict[str, Any], places: dict[str, Any]) -> dict[str, Any]:
    return {name: places.get(value, value) if isinstance(value, str) else value for name, value in arguments.items()}


def changed(tool: str, param: str, value: Any) -> dict[str, Any]:  # deliberately anything
    return {**VALID[tool], param: value}

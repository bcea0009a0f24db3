from __future__ import annotations

import json
from pathlib import Path

import pytest

from mcp_agent_mail.core.mistakes.synonyms import alike, in_snake_case, meanings, nearest_tools, no_tool_for, ways_for

LISTED = json.loads((Path(__file__).parents[2] / "golden" / "tools_list.json").read_text())
TOOLS = {tool["name"]: list(tool["inputSchema"]["properties"]) for tool in LISTED}
NAMES = """
    ensure_project register_agent whois list_agents deregister_agent rename_window send_message reply_message
    mark_message_read acknowledge_message fetch_inbox fetch_topic read_mail list_threads file_reservation_paths
    release_file_reservations renew_file_reservations force_release_file_reservation acquire_build_slot
    release_build_slot request_contact respond_contact search_messages summarize_thread macro_start_session
    macro_prepare_thread withdraw_message
""".split()
"""Some of the tools, so that one more of them changes no answer here."""


@pytest.mark.parametrize("name", ["agentName", "agent-name", "Agent Name", "agent.name", "agent_name"])
def test_a_name_in_another_way_of_writing_is_that_name(name: str) -> None:
    assert in_snake_case(name) == "agent_name"


@pytest.mark.parametrize(
    ("tool", "word", "meant"),
    [
        ("send_message", "from", "sender_name"),
        ("send_message", "agent_name", "sender_name"),
        ("send_message", "name", "sender_name"),
        ("send_message", "recipients", "to"),
        ("send_message", "recipient", "to"),
        ("send_message", "body", "body_md"),
        ("send_message", "message", "body_md"),
        ("send_message", "text", "body_md"),
        ("send_message", "priority", "importance"),
        ("send_message", "project", "project_key"),
        ("send_message", "bodyMd", "body_md"),
        ("send_message", "paths", "attachment_paths"),
        ("reply_message", "attachments", "attachment_paths"),
        ("fetch_inbox", "agent", "agent_name"),
        ("fetch_inbox", "human_key", "project_key"),
        ("fetch_inbox", "cwd", "project_key"),
        ("reply_message", "id", "message_id"),
        ("acknowledge_message", "message", "message_id"),
        ("file_reservation_paths", "files", "paths"),
        ("file_reservation_paths", "path_patterns", "paths"),
        ("file_reservation_paths", "ttl", "ttl_seconds"),
        ("renew_file_reservations", "ttl_seconds", "extend_seconds"),
        ("release_file_reservations", "id", "file_reservation_ids"),
        ("macro_start_session", "project_key", "human_key"),
        ("macro_start_session", "cwd", "human_key"),
        ("macro_start_session", "name", "agent_name"),
        ("register_agent", "agent_name", "name"),
        ("create_agent_identity", "name", "name_hint"),
        ("search_messages", "q", "query"),
        ("request_contact", "from", "from_agent"),
        ("request_contact", "agent", "from_agent"),
        ("respond_contact", "agent", "to_agent"),
        ("respond_contact", "from", "from_agent"),
        ("respond_contact", "contact", "from_agent"),
        ("request_contact", "contact", "to_agent"),
        ("install_precommit_guard", "repo", "code_repo_path"),
        ("send_message", "expires_at", "valid_until"),
        ("send_message", "ttl_seconds", "valid_until"),
        ("send_message", "replaces", "supersedes"),
        ("fetch_inbox_events", "latest", "position_now"),
        ("fetch_inbox_events", "after_cursor", "after"),
        ("wait_for_messages", "next_cursor", "after_cursor"),
        ("wait_for_messages", "after", "after_cursor"),
        ("fetch_inbox", "last_id", "after_id"),
    ],
)
def test_a_word_means_the_parameter_that_the_tool_has(tool: str, word: str, meant: str) -> None:
    assert meanings(word, TOOLS[tool])[:1] == [meant]


@pytest.mark.parametrize(
    ("tool", "word"), [("health_check", "project"), ("ensure_product", "agent"), ("fetch_inbox", "frobnicate")]
)
def test_a_word_without_a_parameter_for_it_means_nothing(tool: str, word: str) -> None:
    assert meanings(word, TOOLS[tool]) == []


def test_nothing_is_meant_but_what_the_tool_accepts() -> None:
    for accepted in TOOLS.values():
        for word in ("from", "message", "name", "id", "path", "key", "to", "text", "agent", "ttl", "files"):
            assert set(meanings(word, accepted)) <= set(accepted) - {word}


@pytest.mark.parametrize(
    ("wanted", "meant"),
    [
        ("read_inbox", ["fetch_inbox"]),
        ("get_messages", ["fetch_inbox"]),
        ("check_my_messages", ["fetch_inbox"]),
        ("check_mail", ["read_mail"]),
        ("claim_paths", ["file_reservation_paths"]),
        ("release_claims", ["release_file_reservations", "force_release_file_reservation"]),
        ("send_mail", ["send_message"]),
        ("sendMessage", ["send_message"]),
        ("mcp__agent-mail__send_message", ["send_message"]),
        ("mcp__mail__renew_file_reservations", ["renew_file_reservations"]),
        ("acknowlege_message", ["acknowledge_message"]),
        ("start_session", ["macro_start_session"]),
        ("get_agents", ["list_agents"]),
        ("search_mail", ["search_messages", "read_mail"]),
        ("whoami", ["whois"]),
        ("ack", ["acknowledge_message"]),
        ("recall_message", ["withdraw_message"]),
        ("unsend_mail", ["withdraw_message"]),
        ("reply", ["reply_message"]),
        ("foo", []),
        ("", []),
    ],
)
def test_a_tool_is_meant_by_its_words_or_its_spelling(wanted: str, meant: list[str]) -> None:
    assert nearest_tools(wanted, NAMES) == meant


def test_the_tool_that_reserves_is_meant_first_by_whoever_wants_to_lock() -> None:
    assert nearest_tools("lock_files", NAMES)[0] == "file_reservation_paths"
    assert nearest_tools("unlock_files", NAMES)[0] == "release_file_reservations"


def test_no_tool_is_meant_where_there_is_none() -> None:
    assert nearest_tools("send_message", []) == []


@pytest.mark.parametrize("wanted", ["list_projects", "get_projects", "mcp__agent-mail__list_project"])
def test_whoever_wants_the_projects_is_told_that_no_tool_lists_them(wanted: str) -> None:
    assert "resource://projects" in (no_tool_for(wanted) or "")


@pytest.mark.parametrize("wanted", ["list_agents", "archive_projects", "send_mail", ""])
def test_for_most_there_is_a_tool(wanted: str) -> None:
    assert no_tool_for(wanted) is None


def test_the_prefix_of_a_subject_is_no_subject() -> None:
    assert alike("subject", ["subject_prefix", "to"]) == []
    assert alike("subject_prefx", ["subject_prefix", "to"]) == ["subject_prefix"]


@pytest.mark.parametrize(
    ("tool", "word"),
    [
        ("wait_for_messages", "after_id"),
        ("wait_for_messages", "last_id"),
        ("fetch_inbox_events", "after_id"),
        ("fetch_inbox", "after"),
        ("fetch_inbox", "after_cursor"),
        ("fetch_inbox", "cursor"),
        ("read_mail", "next_cursor"),
    ],
)
def test_ids_are_no_cursors_and_cursors_no_ids(tool: str, word: str) -> None:
    assert meanings(word, TOOLS[tool]) == alike(word, TOOLS[tool]) == []
    (way,) = ways_for([word], TOOLS[tool], tool=tool)
    assert "next_cursor" in way or "no cursor" in way


@pytest.mark.parametrize(
    ("word", "meant"), [("valid_until", "valid_until"), ("supersedes", "supersedes"), ("expires_at", "valid_until")]
)
def test_a_reply_that_cannot_be_so_is_sent_as_a_message(word: str, meant: str) -> None:
    assert ways_for([word], TOOLS["reply_message"], tool="reply_message") == [
        f"send_message with reply_to takes {meant}."
    ]


def test_for_a_stranger_there_is_no_other_way() -> None:
    assert ways_for(["frobnicate", "priority"], TOOLS["reply_message"], tool="reply_message") == []


def test_names_without_a_word_in_common_have_to_be_very_alike() -> None:
    assert alike("from_agent", ["format", "limit"]) == []
    assert alike("formt", ["format", "limit"]) == ["format"]


@pytest.mark.parametrize("wanted", ["get_attachment", "download_attachments", "readAttachment", "x__attachment"])
def test_whoever_looks_for_a_tool_for_attachments_is_told_where_they_are_read(wanted: str) -> None:
    assert "resource://attachment/<sha256>" in (no_tool_for(wanted) or "")

"""What a connection with the profile `claims` is told: its tools, and what they are called where texts name ours."""

from __future__ import annotations

from mcp_agent_mail.core.profiles import ToolProfile
from mcp_agent_mail.domain.doors.names import CLAIMS_DOOR

GREETING = """\
Mail between coding agents. Begin with create_agent: project_key is the absolute path of your working directory, and \
the same in every other call. Keep your name and the registration_token. Between steps look again with \
check_my_messages. Before you edit files claim them with claim_paths: what stands under conflicts is not yours. Give \
them back with release_claims once committed. Tell those whom your work concerns with send_message, answer with \
reply_message. Where ack_required is set, acknowledge_message once you acted on it."""

CLAIMS = ToolProfile(
    name=CLAIMS_DOOR,
    tools=frozenset(
        (
            *("create_agent", "whois", "list_agents"),
            *("send_message", "reply_message", "check_my_messages", "acknowledge_message"),
            *("claim_paths", "release_claims"),
            *("search_messages", "summarize_thread"),
            *("install_precommit_guard", "uninstall_precommit_guard"),
        )
    ),
    greeting=GREETING,
    instead={
        "macro_start_session": "create_agent",
        "register_agent": "create_agent",
        "create_agent_identity": "create_agent",
        "ensure_project": "create_agent",
        "fetch_inbox": "check_my_messages",
        "read_mail": "check_my_messages",
        "list_threads": "check_my_messages",
        "mark_message_read": "acknowledge_message",
        "file_reservation_paths": "claim_paths",
        "renew_file_reservations": "claim_paths",
        "check_file_reservation_conflicts": "claim_paths",
        "release_file_reservations": "release_claims",
        "renew_claims": "claim_paths",
    },
    arguments={"human_key": "project_key", "sender_name": "from_agent"},
    suggested={"register_agent": {"name": "name_hint"}},
)

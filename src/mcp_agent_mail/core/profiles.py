"""Tool profiles: which tools an MCP connection is shown and may call. Standard library only.

The names stand here as data because settings are checked before anything else is built; a test
holds them equal to the declared tools. Resources are never filtered.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field

from mcp_agent_mail.core.errors import InvalidInput
from mcp_agent_mail.core.lazy.dataclass import dataclass

CLUSTERS: Mapping[str, tuple[str, ...]] = {
    "infrastructure": (
        "health_check",
        "ensure_project",
        "install_precommit_guard",
        "uninstall_precommit_guard",
        "archive_project",
        "unarchive_project",
    ),
    "identity": (
        "register_agent",
        "create_agent_identity",
        "whois",
        "list_agents",
        "deregister_agent",
        "unretire_agent",
        "set_status",
        "list_window_identities",
        "rename_window",
        "expire_window",
    ),
    "messaging": (
        "send_message",
        "reply_message",
        "fetch_inbox",
        "fetch_topic",
        "read_mail",
        "list_threads",
        "mark_message_read",
        "acknowledge_message",
        "purge_old_messages",
    ),
    "delivery": ("message_status", "wait_for_messages", "fetch_inbox_events", "withdraw_message"),
    "contact": ("request_contact", "respond_contact", "list_contacts", "set_contact_policy"),
    "file_reservations": (
        "file_reservation_paths",
        "release_file_reservations",
        "renew_file_reservations",
        "force_release_file_reservation",
        "check_file_reservation_conflicts",
    ),
    "search": ("search_messages", "summarize_thread", "summarize_recent", "fetch_summary"),
    "workflow_macros": (
        "macro_start_session",
        "macro_prepare_thread",
        "macro_file_reservation_cycle",
        "macro_contact_handshake",
    ),
    "build_slots": ("acquire_build_slot", "renew_build_slot", "release_build_slot"),
    "product_bus": (
        "ensure_product",
        "products_link",
        "search_messages_product",
        "fetch_inbox_product",
        "summarize_thread_product",
    ),
}

TOOLS: tuple[str, ...] = tuple(name for names in CLUSTERS.values() for name in names)

UNLISTED: tuple[str, ...] = (
    *("checkout_archive_month", "import_records", "import_content", "list_guard_events", "reissue_token"),
    *("create_join_code", "list_join_codes", "revoke_join_code", "held_mail", "contact_requests"),
    *("heartbeat", "hook_event", "hook_told", "hook_wait"),
    *("create_issued_token", "list_issued_tokens", "revoke_issued_token", "create_sign_in_link"),
    *("owed_acknowledgements", "remind_acknowledgements"),
    *("list_doors", "list_door_names", "link_door_name", "unlink_door_name"),
)
"""Tools that no MCP client has: they are the operator's, or hooks call them."""

CUSTOM = "custom"
"""The cluster of tools that other packages hand in: there is one while CUSTOM_TOOLS names some."""

LISTED_FIRST = (
    "macro_start_session",
    "send_message",
    "reply_message",
    "fetch_inbox",
    "acknowledge_message",
    "file_reservation_paths",
    "release_file_reservations",
)
"""How `tools/list` begins, in whatever profile: what agents call, in the order in which they do."""

_SHARED = ("macro_start_session", "send_message", "fetch_inbox", "acknowledge_message")
_MINIMAL = (*_SHARED, "file_reservation_paths", "release_file_reservations")
_MESSAGING = (
    *_SHARED,
    *("reply_message", "read_mail", "list_threads", "mark_message_read", "search_messages", "whois", "list_agents"),
    "wait_for_messages",
)
_CORE = dict.fromkeys(
    (
        *(*_MINIMAL, *_MESSAGING, "register_agent", *CLUSTERS["contact"]),
        *("renew_file_reservations", "summarize_thread"),
    )
)

NAMED: Mapping[str, frozenset[str]] = {
    "full": frozenset(TOOLS),
    "core": frozenset(_CORE),
    "minimal": frozenset(_MINIMAL),
    "messaging": frozenset(_MESSAGING),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolProfile:
    """`tools` is None when all are meant, those that are no part of the contract too.

    One that has a tool table of its own has words of its own: `greeting` is said to a client when it connects,
    `instead` and `arguments` are what it calls the tools and the arguments that texts of ours name, `suggested` what
    the arguments of a call are there that a refusal suggests, by our tool. Without a `name` nobody can choose it, nor
    another one: it is what doors have of our tools.
    """

    name: str
    tools: frozenset[str] | None
    greeting: str | None = None
    instead: Mapping[str, str] = field(default_factory=dict, compare=False)
    arguments: Mapping[str, str] = field(default_factory=dict, compare=False)
    suggested: Mapping[str, Mapping[str, str]] = field(default_factory=dict, compare=False)

    def shows(self, tool: str) -> bool:
        return self.tools is None or tool in self.tools


FULL = ToolProfile(name="full", tools=None)
NONE_OF_OURS = ToolProfile(name="", tools=frozenset())


_SETTINGS = {"claims": "CLAIMS_ENABLED"}
"""By which profiles are switched on that are off unless they are."""


class UnknownProfile(InvalidInput):
    """A connection asks for a profile that there is not."""


class Profiles:
    """What connections may choose from. `default` is the server's own, by its settings; `also` are those with tool
    tables of their own that it serves.
    """

    def __init__(self, default: ToolProfile = FULL, also: Iterable[ToolProfile] = ()) -> None:
        self.default = default
        self._by_name = {
            **{profile.name: profile for profile in also},
            default.name: default,
            **{name: ToolProfile(name=name, tools=tools) for name, tools in NAMED.items() if name != FULL.name},
            FULL.name: FULL,
        }

    def require(self, name: str) -> ToolProfile:
        """The profile a connection names, ignoring letter case and outer blanks."""
        profile = self._by_name.get(name.strip().lower())
        if profile is None:
            accepted = sorted(self._by_name)
            setting = _SETTINGS.get(name.strip().lower())
            opened_by = "" if setting is None else f" {setting}=true in the server's settings opens it."
            raise UnknownProfile(
                f"There is no tool profile {name!r:.100}.",
                hint=f"Accepted: {', '.join(accepted)}.{opened_by}",
                data={"accepted": accepted},
            )
        return profile


def custom_profile(
    *, mode: str, clusters: Iterable[str], tools: Iterable[str], loaded: Iterable[str] = ()
) -> ToolProfile:
    """`mode` include: only what is named; exclude: everything else. `loaded` are the tools of the cluster `custom`."""
    known = {**CLUSTERS, CUSTOM: tuple(loaded)}
    named = frozenset(tools) | {tool for cluster in clusters for tool in known[cluster]}
    return ToolProfile(name="custom", tools=named if mode == "include" else frozenset({*TOOLS, *known[CUSTOM]}) - named)

"""Who may do what: what is expected of every route, tool and resource, for every credential, written by hand.

`make auth` asks each cell of real servers and compares. A tool, route or resource that is not listed here fails the
tests until somebody has decided what it needs. Nothing here is read from the annotations that the server decides by.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from mcp_agent_mail.core.roles import Role

MODES = ("open", "strict")

# --- Who shows what ---------------------------------------------------------------------------------------------------

NONE, WRONG, EXPIRED, REVOKED = "none", "wrong", "expired", "revoked"
READER, WRITER, OPERATOR = "reader", "writer", "operator"
ANOTHERS = "another agent's"
OPERATORS_OWN = "the operator's own"
CREDENTIALS = (NONE, WRONG, EXPIRED, REVOKED, READER, WRITER, OPERATOR, ANOTHERS, OPERATORS_OWN)

REFUSED = None
"""Instead of a role: 401."""

_LOCKED: Mapping[str, Role | None] = {
    NONE: REFUSED,
    WRONG: REFUSED,
    EXPIRED: REFUSED,
    REVOKED: REFUSED,
    READER: Role.READER,
    WRITER: Role.WRITER,
    OPERATOR: Role.OPERATOR,
    ANOTHERS: Role.WRITER,
    OPERATORS_OWN: Role.OPERATOR,
}
HOLDS: Mapping[str, Mapping[str, Role | None]] = {
    "static": _LOCKED,
    "issued": {**_LOCKED, NONE: Role.WRITER},
    "JWT HS": _LOCKED,
    "JWKS": _LOCKED,
}
"""By the server's kind and what is shown. `static`: HTTP_BEARER_TOKEN with each HTTP_BEARER_ROLE; expired and revoked
are issued tokens there, since the server's own neither expires nor is revoked. `issued`: a server that needs no token,
so that who shows none comes in. A JWT is revoked where its key is: another secret, or one that the issuer has taken
back.
"""
KINDS = tuple(HOLDS)

# --- What it needs ----------------------------------------------------------------------------------------------------


class Need(Enum):
    """The least that lets a request through. `NOTHING`: nobody looks at tokens. `DOOR`: a writer, and the operator's
    own token opens none.
    """

    NOTHING = "nothing"
    READER = Role.READER
    WRITER = Role.WRITER
    OPERATOR = Role.OPERATOR
    DOOR = "door"


READS = frozenset(
    """
    health_check whois list_agents list_window_identities list_contacts fetch_inbox fetch_topic read_mail list_threads
    message_status wait_for_messages fetch_inbox_events hook_wait check_file_reservation_conflicts search_messages
    summarize_thread fetch_summary search_messages_product fetch_inbox_product summarize_thread_product
    """.split()
)
MARKS: Mapping[str, str] = {"fetch_inbox": "mark_read"}
"""Tools that read, and write where this argument is true."""

WRITES = frozenset(
    """
    ensure_project archive_project unarchive_project install_precommit_guard uninstall_precommit_guard register_agent
    create_agent_identity deregister_agent unretire_agent set_status rename_window expire_window request_contact
    respond_contact set_contact_policy send_message reply_message mark_message_read acknowledge_message
    withdraw_message heartbeat hook_event hook_told purge_old_messages file_reservation_paths release_file_reservations
    renew_file_reservations force_release_file_reservation acquire_build_slot renew_build_slot release_build_slot
    summarize_recent ensure_product products_link macro_start_session macro_prepare_thread macro_file_reservation_cycle
    macro_contact_handshake
    """.split()
)
OPERATORS = frozenset(
    """
    checkout_archive_month import_records import_content list_guard_events reissue_token create_join_code
    list_join_codes revoke_join_code create_issued_token list_issued_tokens revoke_issued_token create_sign_in_link
    held_mail contact_requests owed_acknowledgements remind_acknowledgements list_doors list_door_names
    link_door_name unlink_door_name
    """.split()
)
BESIDE_MCP = OPERATORS | {"heartbeat", "hook_event", "hook_told", "hook_wait"}
"""Over MCP these are as unknown as any other name, whoever asks."""

TOOLS: Mapping[str, Need] = {
    **dict.fromkeys(READS, Need.READER),
    **dict.fromkeys(WRITES, Need.WRITER),
    **dict.fromkeys(OPERATORS, Need.OPERATOR),
}

RESOURCES = frozenset(
    """
    resource://config/environment resource://identity/{project} resource://project/{slug} resource://product/{key}
    resource://projects{?include_archived,limit,after_id} resource://agents/{project_key}{?include_retired}
    resource://message/{message_id}{?project} resource://attachment/{sha256}{?project}
    resource://thread/{thread_id}{?project,include_bodies,limit,after_id}
    resource://inbox/{agent}{?project,since_ts,urgent_only,include_bodies,limit}
    resource://outbox/{agent}{?project,limit,include_bodies,since_ts} resource://mailbox/{agent}{?project,limit}
    resource://mailbox-with-commits/{agent}{?project,limit} resource://views/urgent-unread/{agent}{?project,limit}
    resource://views/ack-required/{agent}{?project,limit} resource://views/acks-stale/{agent}{?project,ttl_seconds,limit}
    resource://views/ack-overdue/{agent}{?project,ttl_minutes,limit}
    resource://file_reservations/{slug}{?active_only,limit,after_id} resource://tooling/directory
    resource://tooling/schemas resource://tooling/metrics resource://tooling/locks
    resource://tooling/capabilities/{agent}{?project} resource://tooling/recent/{window_seconds}{?agent,project}
    """.split()
)
"""All need a reader."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """A path as it is asked for. `other_method` is one that it does not answer, if there is one: 405 for whoever may
    come in at all, and for nobody else.
    """

    need: Need
    method: str = "GET"
    body: Any = None
    other_method: str | None = None


_DIGEST = "0" * 64
_MCP = Route(need=Need.READER, method="POST", body={"jsonrpc": "2.0", "id": 1, "method": "ping"})
PATHS: Mapping[str, Route] = {
    "/health/liveness": Route(need=Need.NOTHING, other_method="POST"),
    "/health/readiness": Route(need=Need.NOTHING, other_method="POST"),
    "/.well-known/oauth-protected-resource": Route(need=Need.NOTHING, other_method="POST"),
    "/mcp": _MCP,
    "/mcp/": _MCP,
    "/api": _MCP,
    "/api/": _MCP,
    "/metrics": Route(need=Need.READER, other_method="POST"),
    "/guard/check": Route(need=Need.READER, method="POST", body={}, other_method="GET"),
    "/guard/events": Route(need=Need.WRITER, method="POST", body={}, other_method="GET"),
    f"/attachments/{_DIGEST}": Route(need=Need.READER, other_method="POST"),
    "/rpc/no_such_tool": Route(need=Need.READER, method="POST", body={}, other_method="GET"),
    "/rest/v1/nothing": Route(need=Need.READER),
    "/nothing/is/here": Route(need=Need.READER),
    "/agents/bob/mcp": Route(need=Need.DOOR, method="POST", body={"tool": "check_mail", "args": {}}),
    "/agentmail/peek": Route(need=Need.DOOR, method="POST", body={}),
}
"""Of every path that the application lists, and of the doors'."""

REST: Mapping[str, Route] = {
    "POST messages": Route(need=Need.WRITER, other_method="PUT"),
    "POST messages/{id}/reply": Route(need=Need.WRITER, other_method="GET"),
    "POST messages/{id}/read": Route(need=Need.WRITER, other_method="GET"),
    "POST messages/{id}/ack": Route(need=Need.WRITER, other_method="GET"),
    "POST messages/{id}/withdraw": Route(need=Need.WRITER, other_method="GET"),
    "GET messages/{id}": Route(need=Need.READER, other_method="DELETE"),
    "GET messages/{id}/status": Route(need=Need.READER, other_method="POST"),
    "GET inbox": Route(need=Need.READER, other_method="POST"),
    "GET inbox?mark_read=true": Route(need=Need.WRITER),
    "GET wait": Route(need=Need.READER, other_method="POST"),
    "GET feed": Route(need=Need.READER, other_method="POST"),
    "GET agents": Route(need=Need.READER, other_method="POST"),
    "GET search": Route(need=Need.READER, other_method="POST"),
    "POST reservations": Route(need=Need.WRITER, other_method="GET"),
    "POST reservations/renew": Route(need=Need.WRITER, other_method="GET"),
    "POST reservations/release": Route(need=Need.WRITER, other_method="GET"),
    "POST heartbeat": Route(need=Need.WRITER, other_method="GET"),
    "POST hooks/event": Route(need=Need.WRITER, other_method="GET"),
    "POST hooks/told": Route(need=Need.WRITER, other_method="GET"),
    "GET hooks/wait": Route(need=Need.READER, other_method="POST"),
    "GET events": Route(need=Need.READER, other_method="POST"),
    "GET openapi.json": Route(need=Need.READER, other_method="POST"),
}
"""Below `/rest/v1/`."""

ACTS_AS_AN_AGENT = frozenset(
    """
    deregister_agent unretire_agent set_status request_contact respond_contact set_contact_policy list_contacts
    send_message reply_message mark_message_read acknowledge_message fetch_inbox message_status wait_for_messages
    fetch_inbox_events hook_wait withdraw_message heartbeat hook_event hook_told file_reservation_paths
    check_file_reservation_conflicts release_file_reservations renew_file_reservations force_release_file_reservation
    acquire_build_slot renew_build_slot release_build_slot fetch_inbox_product macro_start_session macro_prepare_thread
    macro_file_reservation_cycle macro_contact_handshake read_mail
    """.split()
)
"""Tools that name the agent whose call it is: refused with the proof of another, and in `strict` without any."""

# --- What comes of it -------------------------------------------------------------------------------------------------

UNAUTHORIZED = "401"
THROUGH = "through"
"""Neither 401 nor for a role: what the tool itself makes of it is its own matter."""
UNKNOWN = "unknown tool"
WRONG_METHOD = "405"
UNPROVEN = "AUTHENTICATION_REQUIRED"
DENIED = "PERMISSION_DENIED"


def beyond(held: Role, needed: Role) -> str:
    """A refusal that names both roles."""
    return f"{held.word}, needs {needed.word}"


def expected(need: Need, holds: Role | None) -> str:
    """Of a path or a tool, outside of MCP or over it."""
    if need is Need.NOTHING:
        return THROUGH
    if holds is REFUSED:
        return UNAUTHORIZED
    least = Role.WRITER if need is Need.DOOR else need.value
    assert isinstance(least, Role)
    return beyond(holds, least) if holds < least else THROUGH


def expected_over_mcp(tool: str, holds: Role | None) -> str:
    """Of a tool over MCP."""
    if holds is not REFUSED and tool in BESIDE_MCP:
        return UNKNOWN
    return expected(TOOLS[tool], holds)


def expected_method(need: Need, holds: Role | None) -> str:
    """Where a path is asked by a method that it does not answer: the edge looks at who asks first."""
    return UNAUTHORIZED if need is not Need.NOTHING and holds is REFUSED else WRONG_METHOD


def held_at_doors(kind: str, shown: str) -> Role | None:
    """What the operator's own token is there: one that nobody knows."""
    if shown == OPERATORS_OWN:
        return HOLDS[kind][NONE]
    return HOLDS[kind][shown]


def expected_of_actor(mode: str, shown: str) -> str:
    """Of a tool that is called in the name of an agent by a writer who has no proof of it, or that of another."""
    if shown == ANOTHERS:
        return DENIED
    return UNPROVEN if mode == "strict" else THROUGH

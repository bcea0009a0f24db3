"""The words by which callers call what goes by another name here: for hints only, nothing is ever accepted by them."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from mcp_agent_mail.core.likeness import COMPARED, likeness, most_like

# What callers write, and the parameters that they may mean by it: the first that a tool has. A word may stand in
# several rows; what stands further up comes first.
_ARGUMENTS = (
    ("agent agent_id agent_name caller identity me my_name name self user username who", "agent_name sender_name"),
    ("author from from_ from_agent from_name requester sender sender_id sender_name", "sender_name from_agent"),
    ("agent agent_name author caller from identity me name sender sender_name", "requester agent_name"),
    ("from_ from_agent from_name my_agent my_name requesting_agent self sender_agent sender_id", "requester"),
    ("agent agent_name identity my_name name sender_name username", "name name_hint"),
    ("addressee contact peer receiver receivers recipient recipient_name recipients target", "to target to_agent"),
    ("contact_name other other_agent peer_name target_agent target_name", "to target to_agent"),
    ("to to_agent to_agents to_name to_names", "to target to_agent"),
    ("body body_markdown body_text content contents markdown md message message_body msg text", "body_md welcome_body"),
    ("body comment description message msg note purpose text why", "note reason file_reservation_reason"),
    ("headline subject subject_line title", "subject welcome_subject"),
    ("importance level prio priority severity urgency", "importance"),
    ("email_id id ids mail mail_id message message_id message_ids msg msg_id", "message_id message_ids"),
    ("file_reservation_id id ids lease lease_id lease_ids", "file_reservation_id file_reservation_ids"),
    ("reservation reservation_id reservation_ids reservations", "file_reservation_id file_reservation_ids"),
    ("file file_path file_paths file_reservation_paths filename filenames files", "paths file_reservation_paths"),
    ("glob globs path path_pattern path_patterns paths pattern patterns", "paths file_reservation_paths"),
    ("attach attachment attachments file file_path file_paths files images paths", "attachment_paths"),
    ("code_repo path repo repo_path repository repository_path", "code_repo_path"),
    ("base_path cwd dir directory folder human_key key path project project_dir project_id", "project_key human_key"),
    ("from_project my_project", "project_key human_key"),
    ("project_key project_name project_path project_root project_slug repo repo_path", "project_key human_key"),
    ("repository root slug workdir working_dir working_directory workspace", "project_key human_key"),
    ("cwd directory", "code_repo_path"),
    ("conversation conversation_id thread thread_key thread_name ticket", "thread_id"),
    ("channel label tag topic topic_name", "topic topic_name"),
    ("ack acknowledgement needs_ack request_ack require_ack requires_ack", "ack_required acknowledge"),
    ("in_reply_to original_id parent parent_id reply_to reply_to_id reply_to_message_id", "reply_to message_id"),
    ("count first limit max max_items max_results n num number page_size size top top_k", "limit inbox_limit"),
    ("count limit max max_results n", "max_messages per_thread_limit commit_limit"),
    ("after_ts from_time from_ts newer_than since since_time start start_ts", "since_ts since_hours"),
    ("hours last_hours window_hours", "since_hours"),
    ("after_message after_message_id last_id last_message_id since_id", "after_id"),
    ("after after_cursor cursor last_cursor last_event_id next_cursor since since_cursor", "after_cursor after"),
    ("from_now latest newest now only_new start_now tail", "position_now"),
    ("deadline expiration expire_at expires expires_at expires_in expires_on expiry not_after", "valid_until"),
    ("ttl ttl_s ttl_seconds valid_till valid_to validity", "valid_until"),
    ("obsoletes replace replaces supercedes supersede superseded superseded_id superseding", "supersedes"),
    ("bodies full include_body include_content show_bodies with_bodies", "include_bodies include_inbox_bodies"),
    ("only_unread unread", "unread_only"),
    ("only_urgent urgent", "urgent_only"),
    ("duration duration_s duration_seconds expires expires_in expires_in_seconds expiry", "ttl_seconds"),
    ("lease_s lease_seconds lifetime minutes seconds timeout ttl ttl_minutes ttl_s ttl_sec ttl_secs", "ttl_seconds"),
    ("duration expires_in extend extend_by extend_s extension seconds ttl ttl_s ttl_seconds", "extend_seconds"),
    ("duration reservation_ttl ttl ttl_s ttl_seconds", "file_reservation_ttl_seconds"),
    ("block max_wait timeout timeout_ms timeout_s timeout_seconds wait wait_s wait_seconds", "wait_seconds timeout_s"),
    ("keyword keywords pattern q search search_query search_term term terms text", "query"),
    ("reason", "file_reservation_reason note"),
    ("desc description goal purpose task task_name", "task_description"),
    ("agent_type cli client client_name harness program_name tool", "program"),
    ("llm model_id model_name", "model llm_model"),
    ("availability presence state", "status"),
    ("contact_policy mode", "policy"),
    ("accepted allow answer approve approved decision response", "accept"),
    ("id key name product product_id product_name product_uid uid", "product_key"),
    ("id uuid window window_id", "window_uuid"),
    ("display_name name new_name title", "new_display_name"),
    ("build_slot id lock name slot_name", "slot"),
    ("client_id dedupe_key key nonce request_id", "idempotency_key"),
    ("all everyone to_all", "broadcast"),
    ("is_exclusive lock", "exclusive"),
    ("retired with_retired", "include_retired"),
    ("active_since active_within active_within_seconds", "active_within_s"),
    ("mark mark_as_read", "mark_read"),
    ("create_if_missing register", "register_if_missing"),
)

_NAMES_AN_AGENT_BESIDE = "program"
"""A parameter `name` is an agent's where it registers; a product has one too."""

_NEAR = 0.3
"""Such a share of their words have two names in common that may be meant for each other."""
_AS_GOOD = 0.2
_SLIP = 0.85
"""Names so alike differ by a slip of the fingers; less says little beside the words."""

_EITHER_SIDE = frozenset("agent agent_id agent_name caller identity me my_name name self username who".split())
"""Of a contact call: whoever makes it, which is the one that its tool names first."""

_OTHER_SIDE = frozenset("contact contact_name other other_agent peer peer_name".split())

_CURSORS = frozenset("after after_cursor cursor last_cursor last_event_id next_cursor since_cursor".split())
_IDS = frozenset("after_id after_message after_message_id last_id last_message_id since_id".split())

_NOT_MEANT: Mapping[str, frozenset[str]] = {
    "subject": frozenset({"subject_prefix"}),
    **dict.fromkeys(_CURSORS, _IDS),
    **dict.fromkeys(_IDS, _CURSORS),
}
"""Alike, and yet something else: a reply keeps its original's subject, and ids are no cursors."""

_ALIKE_APART = 0.7
"""So alike are names meant for each other that have no word in common: by less, `from_agent` is like `format`."""

_NO_CURSOR = (
    "after_id takes an id that this tool gave, no cursor: a cursor goes to wait_for_messages as after_cursor, or to "
    "fetch_inbox_events as after."
)
_OF_A_NEW_MESSAGE = ("valid_until", "supersedes")

# What tools are called elsewhere, word by word: the first of a row is ours.
_TOOL_WORDS = (
    "fetch check get list load look poll read view",
    "inbox emails mails messages",
    "message email mail msg",
    "reservation claim claims lease leases lock reservations reserve",
    "file files",
    "release drop free unlock unreserve",
    "renew extend",
    "acknowledge ack",
    "withdraw cancel delete recall retract revoke undo unsend",
    "send compose post write",
    "reply answer",
    "register create join",
    "start begin init",
    "summarize summarise summary",
    "agent agents",
    "search find grep query",
)


_PROJECTS = (
    "No tool lists projects: your project_key is the absolute path of your working directory. resource://projects "
    "lists all."
)

_ATTACHMENTS = (
    "No tool reads attachments: read resource://attachment/<sha256> with the sha256 that its message shows "
    "(fetch_inbox, read_mail), or GET /attachments/<project slug>/<sha256>. send_message takes attachment_paths."
)


def _by_word(rows: Sequence[tuple[str, str]]) -> dict[str, list[str]]:
    known: dict[str, list[str]] = {}
    for words, meant in rows:
        for word in words.split():
            of_word = known.setdefault(word, [])
            of_word += [name for name in meant.split() if name not in of_word]
    return known


_MEANT: Mapping[str, Sequence[str]] = _by_word(_ARGUMENTS)
_TOOL_WORD = {word: row.split()[0] for row in _TOOL_WORDS for word in row.split()}


def in_snake_case(name: str) -> str:
    """`agentName`, `agent-name` and ` Agent Name` as parameters are written: `agent_name`."""
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name[:COMPARED].strip())
    return re.sub(r"[\s.-]+", "_", apart).lower()


def meanings(name: str, accepted: Sequence[str]) -> list[str]:
    """The `accepted` parameters that callers mean by `name`, best first: itself in another spelling, or a synonym."""
    plain = in_snake_case(name)
    known = [plain, *_MEANT.get(plain, ())]
    sides = [side for side in accepted if side in ("from_agent", "to_agent")]
    if plain in _EITHER_SIDE:
        known += sides
    if plain in _OTHER_SIDE and len(sides) > 1:
        known = sides[1:]
    if plain != "name" and _NAMES_AN_AGENT_BESIDE not in accepted:
        known = [meant for meant in known if meant != "name"]
    return [meant for meant in dict.fromkeys(known) if meant in accepted and meant != name]


def alike(name: str, accepted: Sequence[str]) -> list[str]:
    """The `accepted` parameters that are spelt like `name`, best first."""
    plain = in_snake_case(name)
    other = _NOT_MEANT.get(plain, frozenset())
    words = {*plain.split("_")}
    return [
        one
        for one in most_like(plain, accepted)
        if one not in other and (words & {*one.split("_")} or likeness(plain, one) >= _ALIKE_APART)
    ]


def ways_for(names: Sequence[str], accepted: Sequence[str], *, tool: str) -> list[str]:
    """What to do instead, a sentence each, where `tool` has no parameter for what callers mean by some of `names`."""
    ways: list[str] = []
    for plain in map(in_snake_case, names):
        if tool == "reply_message":
            meant = [one for one in (plain, *meanings(plain, _OF_A_NEW_MESSAGE)) if one in _OF_A_NEW_MESSAGE]
            ways += [f"send_message with reply_to takes {one}." for one in meant[:1]]
        if plain == "from_agent":
            ways.append("search_messages takes from_agent.")
        if plain in _CURSORS and "after_id" in accepted:
            ways.append(_NO_CURSOR)
        if plain in _IDS:
            taking = [one for one in ("after_cursor", "after") if one in accepted]
            ways += [f"{one} takes a cursor, no id: 0, or next_cursor of an earlier answer." for one in taking]
    return list(dict.fromkeys(ways))


def _words_of(tool: str) -> list[str]:
    return [_TOOL_WORD.get(word, word) for word in tool.split("_")]


def nearest_tools(wanted: str, tools: Collection[str], limit: int = 3) -> list[str]:
    """At most `limit` tools that were probably meant, best first: by the words that both names hold, as ours call them,
    or by their spelling. The same name in another spelling alone.
    """
    bare = in_snake_case(re.split(r"__|[./:]", wanted)[-1])
    if bare in tools:
        return [bare]
    scores = {tool: max(_share(bare, tool), _spelling(bare, tool)) for tool in tools}
    best = max(scores.values(), default=0)
    near = [tool for tool in tools if scores[tool] >= max(_NEAR, best - _AS_GOOD)]
    return sorted(near, key=lambda tool: (-scores[tool], -likeness(bare, tool)))[:limit]


def no_tool_for(wanted: str) -> str | None:
    """What to do instead, where `wanted` is for what no tool is for: the list of projects, attachments."""
    words = _words_of(in_snake_case(re.split(r"__|[./:]", wanted)[-1]))
    asks = words[:1] == ["fetch"] and words[-1] in ("project", "projects")
    if not {"attachment", "attachments"}.isdisjoint(words):
        return _ATTACHMENTS
    return _PROJECTS if asks and "search" not in words else None


def _share(wanted: str, tool: str) -> float:
    """How much of the words of both names they have in common. What is to be done, the first word, counts twice."""
    words, others = _words_of(wanted), _words_of(tool)
    first = words[:1]
    common = len({*words} & {*others}) + len({*first} & {*others})
    return common / (len({*words} | {*others}) + len(first))


def _spelling(wanted: str, tool: str) -> float:
    like = likeness(wanted, tool)
    return like if like >= _SLIP else like / 2

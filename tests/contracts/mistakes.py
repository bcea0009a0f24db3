"""The usual mistakes of agents: the call as it is made, and the one that the refusal's text alone makes possible."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

APP = "/code/app"
LIB = "/code/lib"

Arguments = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Mistake:
    """`wrong` is refused; `told` stands in the text block of the refusal; `right` is what then succeeds, made of `told`
    and of what the caller had written.
    """

    name: str
    tool: str
    wrong: Arguments
    told: list[str]
    right: Arguments
    right_tool: str = ""
    never: list[str] = field(default_factory=list)


LETTER: Arguments = {"project_key": APP, "sender_name": "BlueLake", "subject": "Plan", "body_md": "See below."}
OWN: Arguments = {"project_key": APP, "agent_name": "BlueLake"}
PROFILE: Arguments = {"program": "tests", "model": "none"}


def _letter(name: str, to: Any, told: list[str], right: Arguments | None = None, **more: Any) -> Mistake:
    return Mistake(name, "send_message", {**LETTER, "to": to, **more}, told, right or {**LETTER, "to": ["RedStone"]})


NAMES_OF_ARGUMENTS = [
    Mistake(
        "all-by-other-names",
        "send_message",
        {"project": APP, "from": "BlueLake", "recipients": ["RedStone"], "title": "Plan", "message": "See below."},
        [
            "project_key for project",
            "sender_name for from",
            "to for recipients",
            "subject for title",
            "body_md for message",
        ],
        {**LETTER, "to": ["RedStone"]},
        never=["Accepted:"],
    ),
    Mistake(
        "body-and-priority-with-a-value-of-its-own",
        "send_message",
        {**{k: v for k, v in LETTER.items() if k != "body_md"}, "to": "RedStone", "body": "b", "priority": "critical"},
        ["body_md for body", "importance for priority", "importance must be low, normal, high or urgent"],
        {**LETTER, "to": ["RedStone"], "importance": "urgent"},
    ),
    Mistake(
        "text-and-recipient-and-name",
        "send_message",
        {"project_key": APP, "name": "BlueLake", "recipient": "RedStone", "subject": "Plan", "text": "b"},
        ["sender_name for name", "to for recipient", "body_md for text"],
        {**LETTER, "to": ["RedStone"]},
    ),
    Mistake(
        "nothing-but-a-name",
        "send_message",
        {"sender_name": "BlueLake"},
        ["needs project_key, subject and body_md"],
        {**LETTER, "to": ["RedStone"]},
    ),
    Mistake("agent", "fetch_inbox", {"project_key": APP, "agent": "BlueLake"}, ["mean agent_name?"], OWN),
    Mistake("cwd", "fetch_inbox", {"cwd": APP, "agent": "BlueLake"}, ["project_key for cwd", "agent_name for"], OWN),
    Mistake(
        "count", "fetch_inbox", {**OWN, "count": 5}, ["Did you mean limit?"], {**OWN, "limit": 5}, never=["Accepted:"]
    ),
    Mistake(
        "project-key-at-the-start",
        "macro_start_session",
        {"project_key": APP, **PROFILE},
        ["mean human_key?"],
        {"human_key": APP, **PROFILE},
    ),
    Mistake(
        "files-and-ttl",
        "file_reservation_paths",
        {**OWN, "files": ["src/a.py"], "ttl": "1h"},
        ["paths for files", "ttl_seconds for ttl", "ttl_seconds must be a whole number of seconds, not '1h'"],
        {**OWN, "paths": ["src/a.py"], "ttl_seconds": 3600},
    ),
    Mistake(
        "path-patterns",
        "file_reservation_paths",
        {"project": APP, "agent": "BlueLake", "path_patterns": ["src/b.py"]},
        ["project_key for project", "agent_name for agent", "paths for path_patterns"],
        {**OWN, "paths": ["src/b.py"]},
    ),
    Mistake("id", "acknowledge_message", {**OWN, "id": 1}, ["mean message_id?"], {**OWN, "message_id": 1}),
    Mistake(
        "message-and-id",
        "reply_message",
        {"project_key": APP, "sender_name": "BlueLake", "message": "Yes.", "id": 1},
        ["body_md for message", "message_id for id"],
        {"project_key": APP, "sender_name": "BlueLake", "body_md": "Yes.", "message_id": 1},
    ),
    Mistake(
        "q",
        "search_messages",
        {"project_key": APP, "q": "plan"},
        ["mean query?"],
        {"project_key": APP, "query": "plan"},
    ),
    Mistake(
        "agent-name-of-a-registration",
        "register_agent",
        {"project_key": APP, "agent_name": "OldOak", "client": "tests", "llm": "none"},
        ["name for agent_name", "program for client", "model for llm"],
        {"project_key": APP, "name": "OldOak", **PROFILE},
    ),
]

RECIPIENTS = [
    _letter("misspelt", "RedStome", ["mean RedStone?"]),
    _letter("another-case-and-an-at-sign", "@redstone", ["mean RedStone?"]),
    _letter("apart", "Red Stone", ["mean RedStone?"]),
    _letter("a-path", "/agents/RedStone", ["mean RedStone?"]),
    _letter("nobody-like-it", "Xyz", ["There are ", "RedStone"]),
    _letter("two-misspelt", ["RedStome", "Greenfeld"], ["RedStone for 'RedStome'", "GreenField for 'Greenfeld'"]),
    _letter(
        "a-list-in-one-text",
        "RedStone, GreenField",
        ['to=["RedStone", "GreenField"]'],
        {**LETTER, "to": ["RedStone", "GreenField"]},
    ),
    _letter("everyone", "all", ["broadcast=true", "without to"], {**LETTER, "broadcast": True}),
    _letter("a-list-of-everyone", ["everyone"], ["broadcast=true", "without to"], {**LETTER, "broadcast": True}),
    _letter("the-user", "user", ["mean Human?"], {**LETTER, "to": ["Human"]}),
    _letter("one-of-another-project", "QuietFox", ["QuietFox@code-lib"], {**LETTER, "to": [f"QuietFox@{LIB}"]}),
    _letter("an-object", {"name": "RedStone"}, ["to must be a list, not an object", '["one", "two"]']),
    _letter("everyone-and-somebody", "RedStone", ["Leave to out, or set broadcast=false"], broadcast=True),
    _letter("objects", [{"name": "RedStone"}], ['to[0] must be text, not an object. Send "RedStone".']),
    Mistake("nobody", "send_message", LETTER, ["to, cc or bcc", "broadcast=true"], {**LETTER, "to": ["RedStone"]}),
]

WHO_AND_WHERE = [
    Mistake("own-name-misspelt", "fetch_inbox", {**OWN, "agent_name": "BlueLak"}, ["mean BlueLake"], OWN),
    Mistake("own-name-as-address", "fetch_inbox", {**OWN, "agent_name": "BlueLake@app"}, ["mean BlueLake"], OWN),
    Mistake("own-name-forgotten", "fetch_inbox", {**OWN, "agent_name": "claude"}, ["There are ", "BlueLake"], OWN),
    Mistake("path-in-another-case", "fetch_inbox", {**OWN, "project_key": "/Code/App"}, [f"mean {APP}?"], OWN),
    Mistake("folder-within", "fetch_inbox", {**OWN, "project_key": f"{APP}/src/lexer"}, [f"mean {APP}?"], OWN),
    Mistake("last-part-of-the-path", "fetch_inbox", {**OWN, "project_key": "app"}, [f"mean {APP}?"], OWN),
    Mistake("another-home", "fetch_inbox", {**OWN, "project_key": "/home/me/app"}, [f"mean {APP}?"], OWN),
    Mistake(
        "sides-of-an-answer",
        "respond_contact",
        {"project_key": APP, "to_agent": "GreenField", "from_agent": "BlueLake", "accept": True},
        [f'respond_contact(project_key="{APP}", to_agent="BlueLake", from_agent="GreenField", accept=true)'],
        {"project_key": APP, "to_agent": "BlueLake", "from_agent": "GreenField", "accept": True},
    ),
    Mistake(
        "sides-by-other-names",
        "respond_contact",
        {"project_key": APP, "agent_name": "BlueLake", "contact": "GreenField", "approve": True},
        ["to_agent for agent_name, from_agent for contact, accept for approve"],
        {"project_key": APP, "to_agent": "BlueLake", "from_agent": "GreenField", "accept": True},
    ),
    Mistake("by-anothers-project", "fetch_inbox", {**OWN, "project_key": LIB}, [f"is an agent of {APP}:"], OWN),
    Mistake(
        "a-repository-by-its-name",
        "fetch_inbox",
        {**OWN, "project_key": "zork-42"},
        [APP, LIB, "the absolute path of your working directory"],
        OWN,
    ),
    Mistake(
        "sides-of-a-request",
        "request_contact",
        {"project_key": APP, "from_agent": "QuietFox", "to_agent": "BlueLake", "to_project": LIB},
        [f'from_agent="BlueLake", to_agent="QuietFox", to_project="{LIB}"'],
        {"project_key": APP, "from_agent": "BlueLake", "to_agent": "QuietFox", "to_project": LIB},
    ),
]

TOOLS = [
    Mistake(
        "read_inbox", "read_inbox", OWN, ["Unknown tool: read_inbox. Did you mean fetch_inbox?"], OWN, "fetch_inbox"
    ),
    Mistake("list_projects", "list_projects", {}, ["the absolute path of your working"], OWN, "fetch_inbox"),
    Mistake(
        "with-the-servers-name",
        "mcp__agent-mail__send_message",
        {**LETTER, "to": "RedStone"},
        ["Did you mean send_message?"],
        {**LETTER, "to": "RedStone"},
        "send_message",
    ),
    Mistake(
        "reserve_files",
        "reserve_files",
        {**OWN, "paths": ["src/c.py"]},
        ["file_reservation_paths"],
        {**OWN, "paths": ["src/c.py"]},
        "file_reservation_paths",
    ),
]

VALUES = [
    Mistake("since", "fetch_inbox", {**OWN, "since_ts": "yesterday"}, ["ISO 8601, like 2026-01-31T09:30:00Z"], OWN),
    Mistake("flag", "fetch_inbox", {**OWN, "unread_only": "yes"}, ["must be true or false"], OWN),
    Mistake("name-in-a-list", "fetch_inbox", {**OWN, "agent_name": ["BlueLake"]}, ['Send "BlueLake".'], OWN),
    Mistake(
        "ids-in-one-text",
        "mark_message_read",
        {**OWN, "message_ids": "1,2"},
        ["message_ids=[1, 2]"],
        {**OWN, "message_ids": [1, 2]},
    ),
    Mistake(
        "ids-as-one-id",
        "mark_message_read",
        {**OWN, "message_id": [1, 2]},
        ["message_ids takes a list"],
        {**OWN, "message_ids": [1, 2]},
    ),
    Mistake(
        "all-mail",
        "mark_message_read",
        {**OWN, "message_ids": "all"},
        ["fetch_inbox", "mark_read=true"],
        {**OWN, "mark_read": True},
        "fetch_inbox",
    ),
    Mistake(
        "leases-in-one-text",
        "release_file_reservations",
        {**OWN, "file_reservation_ids": "1,2"},
        ["file_reservation_ids=[1, 2]"],
        {**OWN, "file_reservation_ids": [1, 2]},
    ),
    Mistake(
        "all-leases",
        "release_file_reservations",
        {**OWN, "file_reservation_ids": "all"},
        ["Leave it out"],
        OWN,
    ),
    Mistake(
        "a-subject-of-a-reply",
        "reply_message",
        {"project_key": APP, "sender_name": "BlueLake", "message_id": 1, "body_md": "Yes.", "subject": "Q"},
        ["no argument 'subject'"],
        {"project_key": APP, "sender_name": "BlueLake", "message_id": 1, "body_md": "Yes."},
        never=["Did you mean subject_prefix"],
    ),
    Mistake("no-id", "acknowledge_message", {**OWN, "message_id": "one"}, ["a whole number"], {**OWN, "message_id": 1}),
    Mistake(
        "four-at-once",
        "send_message",
        {**LETTER, "to": "RedStone", "subject": "a\0b", "importance": "top", "thread_id": "a b", "topic": ".x"},
        [
            "subject holds a control character",
            "importance must be low, normal, high or urgent",
            "thread_id 'a b' is not ",
            "topic '.x' is not 1 to 64 of A-Z a-z 0-9 . _ - (the first no dot). ",
            "thread_id: Use an id like TKT-123",
        ],
        {**LETTER, "to": "RedStone", "importance": "urgent", "thread_id": "a-b", "topic": "x"},
        never=["leave it out"],
    ),
    Mistake(
        "two-lengths",
        "send_message",
        {**LETTER, "to": "RedStone", "subject": "x" * 600, "idempotency_key": "k" * 300},
        ["subject has 600 characters; at most 512", "idempotency_key has 300 characters; at most 200"],
        {**LETTER, "to": "RedStone"},
    ),
    _letter("an-object-for-text", "RedStone", ["body_md must be text, not an object"], body_md={"text": "b"}),
]

MISTAKES = [*NAMES_OF_ARGUMENTS, *RECIPIENTS, *WHO_AND_WHERE, *TOOLS, *VALUES]

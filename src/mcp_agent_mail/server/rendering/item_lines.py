"""Items of a list in Markdown, one line each: a message, an agent, a lease, a conflict.

A line leads with what a caller needs next (its id) and what a person calls it by; then comes what is not
as usual. Times are whole minutes, long texts are cut: where a tool answers, the exact values stand as JSON
beside the text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from mcp_agent_mail.core.escaping import visible
from mcp_agent_mail.core.lazy.pattern import lazy_pattern
from mcp_agent_mail.core.tools import Json

_KINDS = (
    frozenset({"subject", "from"}),  # messages, what a search found
    frozenset({"name", "program"}),  # agents
    frozenset({"direction", "to", "from"}),  # links to contacts
    frozenset({"path_pattern"}),  # leases and grants
    frozenset({"path", "holders"}),  # conflicts
    frozenset({"thread_id", "participants"}),  # threads
    frozenset({"slug", "human_key"}),  # projects
)
_TITLES = ("subject", "name", "path_pattern", "path", "human_key", "thread_id")
_BODY = "body_md"
_HINT = "hint"
"""Whole: half a hint is none."""
COPIED = frozenset({"path", "path_pattern", "project", "human_key", "slug", "registration_token"})
"""Texts that a caller copies, so that no escape may stand in them."""
WRITTEN_BY_AGENTS = frozenset(
    {
        "description",
        "model",
        "note",
        "program",
        "reason",
        "snippet",
        "status_note",
        "task_description",
        "withdrawn_reason",
    }
)
"""Free texts: in quotes, so that nobody takes a peer's words for the server's."""
_SAID = {
    "acknowledged_at": "acknowledged {}",
    "attachments": "attached {}",
    "ack_required": "ack asked for",
    "cc": "cc {}",
    "created_ts": "{}",
    "contact_policy": "contacts {}",
    "expires_ts": "until {}",
    "fencing": "fencing {}",
    "direction": "{}",
    "from": "from {}",
    "holders": "held by {}",
    "importance": "{}",
    "kind": "{}",
    "last_active_ts": "active {}",
    "last_agent_activity_ts": "active {}",
    "last_filesystem_activity_ts": "files {}",
    "last_git_activity_ts": "commits {}",
    "last_mail_activity_ts": "mail {}",
    "model": "{}",
    "newer_from_sender": "{} newer from the sender",
    "program": "{}",
    "new_expires_ts": "until {}",
    "old_expires_ts": "before {}",
    "project": "in {}",
    "read_at": "read {}",
    "reason": "{}",
    "recipients": "to {}",
    "reply_to": "answers {}",
    "reservation_id": "reservation {}",
    "retired_at": "retired {}",
    "snippet": "{}",
    "stale": "stale",
    "stale_reasons": "{}",
    "status": "{}",
    "status_note": "{}",
    "superseded_by": "replaced by {}",
    "supersedes": "replaces {}",
    "agent": "{}",
    "task_description": "{}",
    "thread_id": "thread {}",
    "to": "to {}",
    "topic": "topic {}",
    "unread_count": "{} unread",
    "valid_until": "valid until {}",
    "withdrawn_at": "withdrawn {}",
    "withdrawn_reason": "because {}",
}
_USUAL: tuple[tuple[str, Json], ...] = (
    ("importance", "normal"),
    ("kind", "to"),
    ("status", "ready"),
    ("status", "delivered"),
    ("contact_policy", "auto"),
    ("exclusive", True),
    ("newer_from_sender", 0),
    ("unread_count", 0),
)
_UNTOLD = frozenset({"age_s", "project_id", "attachments_policy", "inception_ts"})
"""What other keys of the item tell, or no reader acts on."""
_LONGEST = 64
_TIME = lazy_pattern(r"(\d{4}-\d\d-\d\dT\d\d:\d\d):\d\d(?:\.\d+)?\+00:00")
_SPECIAL = lazy_pattern(r"([\\`*\[\]<>#|~]|(?<![^\W_])_|_(?![^\W_]))")
"""An underscore within a word is none: names of tools and parameters are copied."""
_BREAKS = lazy_pattern(r"[\r\n\t\v\f\x1c-\x1e\x85\u2028\u2029]+")


def plain(text: str) -> str:
    """On one line, nothing in it is markup, and what nobody would see is written out."""
    return _SPECIAL.sub(r"\\\1", visible(_BREAKS.sub(" ", text)))


def are_lines(values: Sequence[Json]) -> bool:
    """Whether every item is of a kind that has a line, and holds no object that a line has no place for."""
    return all(isinstance(one, Mapping) and _is_line(_spread(one)) for one in values)


def item_lines(values: Sequence[Mapping[str, Json]]) -> Iterator[tuple[str, str | None]]:
    """Each item's line and its body, if the item has one that is not empty."""
    for item in map(_spread, values):
        title = next((key for key in _TITLES if item.get(key)), None)
        named = [str(item["id"])] if "id" in item else []
        if title is not None:
            named.append(_named(title, item[title]))
        told = ", ".join(_parts({key: one for key, one in item.items() if key not in ("id", title, _BODY)}))
        parts = [part for part in (" ".join(named), told) if part]
        yield f"- {': '.join(parts)}", item.get(_BODY) or None


def _is_line(item: Mapping[str, Json]) -> bool:
    return any(kind <= item.keys() for kind in _KINDS) and _is_flat(item)


def _spread(item: Mapping[str, Json]) -> Mapping[str, Json]:
    """A delivery as its message, with its project and what became of each recipient."""
    if not isinstance(item.get("payload"), Mapping):
        return item
    message = {**item["payload"], "project": item.get("project")}
    if "recipients" not in message:
        return message
    recipients = [{"agent": one["name"], "kind": one["kind"], "status": one["status"]} for one in message["recipients"]]
    return {key: one for key, one in message.items() if key not in ("to", "cc", "bcc")} | {"recipients": recipients}


def _named(key: str, value: Json) -> str:
    return code(value) if key in COPIED else f"**{plain(str(value))}**"


def code(text: str) -> str:
    """A path as it is, to be copied; escaped where a code span could not hold it."""
    return plain(text) if "`" in text or _BREAKS.search(text) else f"`{text}`"


def _parts(item: Mapping[str, Json]) -> Iterator[str]:
    for key, value in item.items():
        if not _is_told(key, value, item):
            continue
        form = "shared" if key == "exclusive" else _SAID.get(key, f"{plain(key)} {{}}")
        yield form.replace("{}", _value(key, value))


def _is_told(key: str, value: Json, item: Mapping[str, Json]) -> bool:
    if key in _UNTOLD or value in (None, [], "") or (key, value) in _USUAL:
        return False
    if key == "stale_reasons":  # of one that is not stale they repeat the times
        return bool(item.get("stale"))
    return value is not False or key == "exclusive"


def _value(key: str, value: Json) -> str:
    if isinstance(value, list):
        if key == "attachments":
            return ", ".join(_attachment(one) for one in value)
        return " and ".join(", ".join(_parts(one)) if isinstance(one, Mapping) else plain(str(one)) for one in value)
    if value is True:
        return "yes"
    text = str(value)
    if key in COPIED:
        return code(text)
    if time := _TIME.fullmatch(text):
        return f"{time[1]}Z"
    is_quoted = key in WRITTEN_BY_AGENTS
    longest = _LONGEST - 2 * is_quoted
    shown = plain(text if len(text) <= longest or key == _HINT else f"{text[: longest - 1]}…")
    return quoted(shown) if is_quoted else shown


def quoted(shown: str) -> str:
    """Between quotes that nothing within can end."""
    return '"' + shown.replace('"', '\\"') + '"'


def _attachment(one: Mapping[str, Json]) -> str:
    return quoted(plain(str(one.get("name") or one.get("original_path") or one.get("path") or one.get("media_type"))))


def _is_flat(item: Mapping[str, Json]) -> bool:
    return all(_fits(one) for key, one in item.items() if key != "attachments")


def _fits(value: Json) -> bool:
    if not isinstance(value, list):
        return not isinstance(value, Mapping)
    cells = [cell for entry in value for cell in (entry.values() if isinstance(entry, Mapping) else [entry])]
    return not any(isinstance(cell, list | Mapping) for cell in cells)

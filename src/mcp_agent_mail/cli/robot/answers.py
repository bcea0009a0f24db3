"""What each question is answered: the tools' words, without what is empty or everyday.

Nothing here marks mail as read. `more` counts at least what is left.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from mcp_agent_mail.cli.mail.meant_threads import thread_meant
from mcp_agent_mail.cli.project_option import resource_uri
from mcp_agent_mail.cli.robot.caller import RobotCaller
from mcp_agent_mail.cli.robot.line import Item, RobotAnswer
from mcp_agent_mail.core.clock import SECOND, Clock, parse_time, system_clock

DEFAULT_ITEMS = 50
"""More never fit an answer whose number of items was not given."""
MOST_ITEMS = 1_000
_LEASES = 200
_COUNTED_AT_ONCE = 1_000
_COUNTS = 10
"""Of so many lists at most are reservations counted."""
_RECIPIENTS = 10

Row = Mapping[str, Any]


def status(caller: RobotCaller) -> RobotAnswer:
    """The server, the mail that waits, and what is reserved: by the caller and by others."""
    counts = _counts(caller)
    health = caller.gateway.call("health_check", {})
    held = _held(caller)
    return RobotAnswer(
        facts={
            "server": "none" if caller.gateway.is_in_process else health["status"],
            "version": health["version"],
            "agent": caller.agent,
            "project": caller.project,
            **counts,
            "reservations": held,
            "pending_events": health["archive"]["pending_events"],
        }
    )


def whoami(caller: RobotCaller) -> RobotAnswer:
    """Who the caller is to the server. `verified`: proven by a token, as the server says."""
    is_verified = _is_verified(caller)
    agent = caller.gateway.call("whois", {**caller.named, "include_recent_commits": False})
    kept = ("program", "model", "status", "status_note", "contact_policy", "task_description", "aliases", "retired_at")
    facts = {"agent": agent["name"], "project": caller.project, "verified": is_verified}
    return RobotAnswer(facts={**facts, **_compact(agent, kept)})


def inbox(caller: RobotCaller, *, limit: int | None, all_mail: bool, urgent: bool, bodies: bool) -> RobotAnswer:
    """The caller's unread mail, newest first; what was read too with `all_mail`."""
    counts = _counts(caller)
    asked = {"limit": _asked(limit), "unread_only": not all_mail, "urgent_only": urgent, "include_bodies": bodies}
    found = caller.gateway.call("fetch_inbox", {**caller.named, **asked})
    known = 0 if all_mail and urgent else counts["total" if all_mail else _UNREAD[urgent]]
    kept = (*_HEAD, "kind", "newer_from_sender", "acknowledged_at", *_ENDS, *_BODY)
    items = [{**_mail(one, kept), **_state(one, all_mail=all_mail), "age_s": one["age_s"]} for one in found]
    return RobotAnswer(
        facts={"agent": caller.agent, **counts},
        name="messages",
        items=_some(items, limit),
        total=max(known, len(found)),
    )


_UNREAD = {False: "unread_count", True: "urgent_unread"}


def thread(
    caller: RobotCaller,
    thread_id: str,
    *,
    after_id: int | None,
    limit: int | None,
    bodies: bool,
    clock: Clock = system_clock,
) -> RobotAnswer:
    """A thread's messages, oldest first, from behind `after_id`; of a message's id the thread that it is in."""

    def first_of(name: str) -> list[Item]:
        asked = {"thread_id": name, "limit": 2, "include_bodies": False}
        found: list[Item] = caller.gateway.call("read_mail", {**caller.named, **asked})["messages"]
        return found

    thread_id = thread_meant(thread_id, first_of)
    asked = {"thread_id": thread_id, "limit": _asked(limit), "include_bodies": bodies}
    place = {} if after_id is None else {"after_id": after_id}
    answer = caller.gateway.call("read_mail", {**caller.named, **asked, **place})
    found = answer["messages"]
    return RobotAnswer(
        facts={"thread_id": thread_id, "total": answer["total"]},
        name="messages",
        items=_some([_in_thread(one, clock) for one in found], limit),
        total=len(found) if after_id else answer["total"],
        has_cursor=True,
    )


def search(caller: RobotCaller, query: str, *, limit: int | None, clock: Clock = system_clock) -> RobotAnswer:
    """Mail of the project that has the words, best first, each with a snippet."""
    asked = {"project_key": caller.project, "query": query, "limit": _asked(limit)}
    found = caller.gateway.call("search_messages", asked)["result"]
    items = [{**_mail(one, (*_HEAD, "snippet")), **_age(one, clock)} for one in found]
    return RobotAnswer(facts={}, name="messages", items=_some(items, limit), total=len(found))


def reservations(caller: RobotCaller, *, mine: bool, limit: int | None, clock: Clock = system_clock) -> RobotAnswer:
    """Live reservations: the caller's own first, then the others', oldest first."""
    found = [one for one in _leases(caller, MOST_ITEMS if limit else _LEASES) if not mine or _is_own(one, caller)]
    found.sort(key=lambda one: not _is_own(one, caller))
    items = [_lease(one, caller, clock) for one in found]
    return RobotAnswer(facts={}, name="reservations", items=_some(items, limit), total=len(found))


_HEAD = ("id", "from", "subject", "thread_id", "importance", "ack_required")
_ENDS = ("expired", "withdrawn_at", "superseded_by", "valid_until")
_BODY = ("body_md", "body_omitted")
_EVERYDAY: tuple[object, ...] = (None, False, "", [], 0, "normal", "to")


def _compact(row: Row, keys: Iterable[str]) -> Item:
    """Those of the keys that say something."""
    return {key: row[key] for key in keys if row.get(key) not in _EVERYDAY}


def _mail(row: Row, keys: Iterable[str]) -> Item:
    attached = len(row.get("attachments") or ())
    return {**_compact(row, keys), **({"attachments": attached} if attached else {})}


def _state(row: Row, *, all_mail: bool) -> Item:
    """Among mail of all kinds the unread is marked."""
    return {"unread": True} if all_mail and not row.get("read_at") else {}


def _in_thread(row: Row, clock: Clock) -> Item:
    """Long lists of recipients are cut, and what is left of them is counted."""
    to = [*row["to"], *row["cc"]]
    more = {"more_recipients": len(to) - _RECIPIENTS} if len(to) > _RECIPIENTS else {}
    head = _mail(row, ("id", "from", "subject", "importance", "ack_required", "reply_to", *_ENDS, *_BODY))
    return {**head, "to": to[:_RECIPIENTS], **more, **_age(row, clock)}


def _lease(row: Row, caller: RobotCaller, clock: Clock) -> Item:
    own = {"mine": True} if _is_own(row, caller) else {"agent": row["agent"]}
    shared = {} if row["exclusive"] else {"shared": True}
    left = (parse_time(row["expires_ts"]) - clock()) // SECOND
    head = {"id": row["id"], **own, "path_pattern": row["path_pattern"], **shared}
    return {**head, **_compact(row, ("reason", "stale")), "expires_in_s": max(0, left)}


def _age(row: Row, clock: Clock) -> Item:
    return {"age_s": max(0, (clock() - parse_time(row["created_ts"])) // SECOND)}


def _counts(caller: RobotCaller) -> dict[str, int]:
    """What waits. It is asked as the agent: a token that is not the agent's is refused here."""
    counts: dict[str, int] = caller.gateway.call("fetch_inbox", {**caller.named, "limit": 0})
    return counts


def _is_verified(caller: RobotCaller) -> bool:
    """Whether a token that came along proved the caller. The server tells that an agent is proven; that it is this one
    it has been asked before: another is refused as this one. Raises what a wrong token raises.
    """
    _counts(caller)
    return bool(caller.gateway.call("health_check", {})["caller"] == "agent")


def _leases(caller: RobotCaller, limit: int = _LEASES, **after: int) -> list[Item]:
    found: list[Item] = caller.gateway.read(resource_uri("file_reservations", caller.project, limit=limit, **after))
    return found


def _held(caller: RobotCaller) -> Item:
    """How many live reservations the caller and others have; `more` where there are more than were counted."""
    own = others = 0
    after: dict[str, int] = {}
    for _ in range(_COUNTS):
        found = _leases(caller, _COUNTED_AT_ONCE, **after)
        mine = sum(_is_own(one, caller) for one in found)
        own, others = own + mine, others + len(found) - mine
        if len(found) < _COUNTED_AT_ONCE:
            return {"own": own, "others": others}
        after = {"after_id": found[-1]["id"]}
    return {"own": own, "others": others, "more": True}


def _is_own(row: Row, caller: RobotCaller) -> bool:
    return str(row["agent"]).lower() == caller.agent.lower()


def _asked(limit: int | None) -> int:
    """One more than is shown, so that the end is known."""
    return DEFAULT_ITEMS if limit is None else min(limit + 1, MOST_ITEMS)


def _some(items: list[Item], limit: int | None) -> list[Item]:
    return items if limit is None else items[:limit]

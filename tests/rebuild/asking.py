"""Everything that reads is asked everything, and the answers are compared, less what is not rebuilt."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.core.ids import MessageId
from mcp_agent_mail.core.tools import Credentials
from mcp_agent_mail.features.history.message_events import read_message_events
from mcp_agent_mail.features.history.shapes import show_message_history
from mcp_agent_mail.store.transaction import open_view
from tests.rebuild import resource_asks, tool_asks
from tests.rebuild.facts import Facts
from tests.rebuild.world import ANYBODY, THE_OPERATOR, open_world
from tests.seeded_store import SetClock

Answers = Mapping[str, str]
"""Canonical JSON by what was asked."""

_CALLERS: Mapping[str, Credentials] = {"anybody": ANYBODY, "operator": THE_OPERATOR}

_EVENTS = 1_000
_PRESENCE = ("status", "status_note", "status_ts", "listening")
_OF_ACTIVITY = ("stale", "stale_reasons", "last_agent_activity_ts")
_OF_PROCESSES = ("database_url", "owner_pid", "last_commit_at")
"""Where this database lies, who holds it, and which of several archives was the last to be told of."""

_OF_FEEDS = ("feed_tail",)
"""Feeds are not rebuilt, and their numbers go on above those that Git shows."""


async def ask(root: Path, database: Path, now: Micros, facts: Facts) -> Answers:
    """What the store says over that database at that moment. It may write into it: give it a copy."""
    clock = SetClock(now)
    answers = histories(database, facts)
    async with open_world(root, database, clock) as world:
        for caller, credentials in _CALLERS.items():
            for tool, asks in tool_asks.ASKS.items():
                for arguments in asks(facts):
                    asked = f"{caller}: {tool} {json.dumps(arguments, ensure_ascii=False, sort_keys=True)}"
                    answers[asked] = await _told(world.call(tool, credentials, **arguments), facts)
            for resource in resource_asks.ASKS.values():
                for uri in resource(facts):
                    answers[f"{caller}: {uri}"] = await _told(world.read(f"resource://{uri}", credentials), facts)
    return answers


def histories(database: Path, facts: Facts) -> dict[str, str]:
    """What became of every message, as `am history message` tells it."""
    answers: dict[str, str] = {}
    with open_view(database) as view:
        for number in dict.fromkeys(number for number, _, _ in facts.mail):
            told = show_message_history(read_message_events(view, MessageId(number), None, _EVENTS))
            lasting = without_what_is_lost(told["events"], facts)
            answers[f"history message {number}"] = json.dumps(lasting, ensure_ascii=False, sort_keys=True)
    return answers


# An answer is plain JSON, as the tool gives it.
async def _told(answer: Any, facts: Facts) -> str:
    try:
        value = await answer
    except AgentMailError as refused:
        value = {"refused": refused.code, "message": refused.message}
    beside = getattr(value, "beside", None)
    lasting = without_what_is_lost({"value": value, "beside": beside}, facts)
    return json.dumps(lasting, ensure_ascii=False, sort_keys=True)


def without_what_is_lost(value: Any, facts: Facts) -> Any:
    """An answer less presence and what rests on it, and lists that it orders in an order of their own. Which of two
    commits is the newest of a message is not known where histories were joined, or where it changed no file.
    """
    if isinstance(value, list):
        items = [without_what_is_lost(item, facts) for item in value]
        ordered_by_activity = any(isinstance(item, dict) and "last_active_ts" in item for item in value)
        return sorted(items, key=json.dumps) if ordered_by_activity else items
    if not isinstance(value, dict):
        return value
    lost = {*_OF_PROCESSES, *_OF_FEEDS, "last_active_ts"}
    if "status_note" in value:
        lost |= {*_PRESENCE}
    if "reservation_id" in value or "stale_reasons" in value:
        lost |= {*_OF_ACTIVITY}
    if value.get("id") in facts.held_blind or (facts.adopters and ("from" in value or "event" in value)):
        lost |= {"commit"}
    lasting = {key: without_what_is_lost(item, facts) for key, item in value.items() if key not in lost}
    if facts.adopters and "recent_commits" in lasting:
        lasting["recent_commits"].sort(key=json.dumps)
    return lasting


def differences(before: Answers, after: Answers, *, most: int = 20) -> list[str]:
    """What differs, in words, the first of it."""
    found = _differing(before, after)
    return [line for _, line in zip(range(most), found, strict=False)]


def _differing(before: Answers, after: Answers) -> Iterator[str]:
    for asked in before:
        if before[asked] != after[asked]:
            was, is_now = _around(before[asked], after[asked]), _around(after[asked], before[asked])
            yield f"{asked}\n    was {was}\n    is  {is_now}"


def _around(one: str, other: str) -> str:
    """One answer where it begins to differ from the other."""
    same = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    return f"…{one[max(0, same - 120) : same + 160]}…"

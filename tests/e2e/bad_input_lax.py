"""Input that is not as declared and must be understood all the same."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.e2e.bad_input_samples import ACCEPTED, VALID, Case


def lax() -> Iterator[Case]:
    """What must be accepted though it is not the declared type, on tools that change nothing."""
    inbox: dict[str, dict[str, Any]] = {
        "limit-in-words": {"limit": "5"},
        "limit-float": {"limit": 5.0},
        "limit-null": {"limit": None},
        "limit-blank": {"limit": " "},
        "flag-in-words": {"urgent_only": "true"},
        "flag-in-capitals": {"urgent_only": "FALSE"},
        "flag-null": {"urgent_only": None},
        "since-epoch": {"since_ts": 1_700_000_000},
        "since-epoch-text": {"since_ts": "1700000000.5"},
        "since-date": {"since_ts": "2026-01-01"},
        "since-z": {"since_ts": "2026-01-01T00:00:00Z"},
        "since-blank": {"since_ts": " "},
        "since-offset": {"since_ts": "2026-01-01T00:00:00+02:00"},
        "topic-blank": {"topic": ""},
        "thread-number": {"thread_id": 1},
        "thread-blank": {"thread_id": "  "},
        "name-case": {"agent_name": " redstone "},
        "limit-plus": {"limit": "+7"},
        "limit-float-text": {"limit": "5.0"},
        "key-slashes": {"project_key": "/code//x/../bad-input/"},
        "token-blank": {"registration_token": ""},
        "token-null": {"sender_token": None},
    }
    for label, change in inbox.items():
        yield Case(label, "fetch_inbox", {**VALID["fetch_inbox"], **change}, ACCEPTED)
    search: dict[str, dict[str, Any]] = {
        "order-case": {"order": " NEWEST "},
        "importance-case": {"importance": "High"},
        "importance-null": {"importance": None},
        "query-number": {"query": 42},
        "query-blank": {"query": " "},
    }
    for label, change in search.items():
        yield Case(label, "search_messages", {**VALID["search_messages"], **change}, ACCEPTED)
    for label, change in {"limit": {"limit": 10**6}, "window": {"active_within_s": 10**15}}.items():
        yield Case(f"huge-{label}", "list_agents", {**VALID["list_agents"], **change}, ACCEPTED)

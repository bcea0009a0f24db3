"""The rows of two databases side by side, read without the product: what was rebuilt is what was there."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.rebuild.mutations import columns

NOT_REBUILT: Mapping[str, str] = {
    "counters": "numbers given next go on far above",
    "announcements": "what hooks have told",
    "digests": "stored summaries",
    "feed": "events of delivery",
    "feed_marks": "times of cursors",
    "guard_events": "the guard's log",
    "hook_sessions": "sessions of clients",
    "idempotency_keys": "keys of calls",
    "issued_tokens": "issued tokens",
    "dismissed_siblings": "pairs that a person is asked about again",
    "web_sessions": "sessions of browsers",
    "join_codes": "join codes",
    "llm_spending": "spending on language models",
    "meta": "but for the store's id, which answers and archives are asked for",
    "outbox": "what is pending and what is done: receipts and commits are compared by what is shown of them",
    "pops": "answers under way at doors",
    "stale_aliases": "what waits to be told to archives",
    "unqueued_notices": "what waits to be told to archives",
    "windows": "windows",
    "agents.last_active_ts": "presence",
    "agents.status": "presence",
    "agents.status_note": "presence",
    "agents.status_ts": "presence",
    "agents.token_hash": "tokens",
    "commits.id": "a number that nobody sees",
    "messages.is_verified": "proof of a call",
    "recipients.handed_ts": "a side fact of a running server",
    "recipients.shown_ts": "a side fact of a running server",
    "recipients.gone_ts": "is told once, in a feed",
    "leases.promises": "how many calls that may yet go unheard count on it",
    "identifiers": "names that only purged mail had are gone; the dump compares the others",
}
"""Tables and columns that a rebuilt database need not have as they were."""

_HOMES = "SELECT id, project_id FROM agents"


def differing_rows(before: Path, after: Path, *, most: int = 40) -> list[str]:
    """Rows that only one of the two databases has, in words, the first of them."""
    lines = (line for table, shown in _compared() for line in _differing(before, after, table, shown))
    return [line for _, line in zip(range(most), lines, strict=False)]


def _compared() -> Iterator[tuple[str, list[str]]]:
    shown: dict[str, list[str]] = {}
    for column in columns():
        if not {column.table.name, str(column)} & NOT_REBUILT.keys():
            shown.setdefault(column.table.name, []).append(column.name)
    yield from shown.items()


def _differing(before: Path, after: Path, table: str, shown: list[str]) -> Iterator[str]:
    was, is_now = _rows(before, table, shown), _rows(after, table, shown)
    for mark, rows, others in (("-", was, set(is_now)), ("+", is_now, set(was))):
        for row in rows:
            if row not in others:
                yield f"{mark} {table} {dict(zip(shown, row, strict=True))}"


# Rows as SQLite gives them.
def _rows(database: Path, table: str, shown: list[str]) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
        names = ", ".join(f'"{name}"' for name in shown)
        query = f"SELECT {names} FROM {table} ORDER BY 1"
        rows = [tuple(map(_plain, row)) for row in connection.execute(query)]
        if table == "messages":
            at = shown.index("scope")
            homes = {f"b{agent}": f"p{project}" for agent, project in connection.execute(_HOMES)}
            return [(*row[:at], _needed(row[at], homes), *row[at + 1 :]) for row in rows]
        return rows


def _needed(scope: str, homes: Mapping[str, str]) -> str:
    """The words of a message's scope, less those of readers whose project may find it anyway, since it was adopted."""
    words = scope.split()
    return " ".join(word for word in words if homes.get(word) not in words)


# Likewise.
def _plain(value: Any) -> Any:
    """A JSON text with its keys in order: in which they stand says nothing."""
    if not isinstance(value, str) or not value.startswith(("{", "[")):
        return value
    try:
        return json.dumps(json.loads(value), sort_keys=True)
    except ValueError:
        return value


def next_numbers(database: Path) -> dict[str, int]:
    """The last number given, by what it was given to. Numbers of commits are nobody's."""
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
        given = dict(connection.execute("SELECT name, seq FROM sqlite_sequence WHERE name NOT IN ('commits')"))
        counted = "SELECT name, value FROM counters WHERE name IN ('delivery', 'fencing')"
        return given | dict(connection.execute(counted))

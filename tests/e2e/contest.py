"""Agents that fight for overlapping paths over HTTP, and the judgement of what they and the server recorded.

What a pattern covers is said here by enumeration, independent of the program: a violation is two agents
who both held some file of FILES at one instant, one of them exclusively.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from typing import Any

from mcp_agent_mail.core.clock import from_datetime
from tests.served import Connection, Served

PROJECT = "/code/contest"
PROFILE = {"program": "tests", "model": "none"}

FILES = frozenset(f"{folder}/{name}" for folder in ("src/a", "src/b", "lib") for name in ("one.py", "two.py", "one.c"))


def _where(*parts: str) -> frozenset[str]:
    return frozenset(path for path in FILES if any(part in f"/{path}" for part in parts))


COVERS: dict[str, frozenset[str]] = {
    **{path: frozenset({path}) for path in FILES},
    "src/**": _where("/src/"),
    "src/a/": _where("/src/a/"),
    "src/?/one.*": _where("/src/a/one.", "/src/b/one."),
    "*.c": _where(".c"),
    "src/b/*.py": _where("/src/b/one.py", "/src/b/two.py"),
    "**/two.py": _where("/two.py"),
    "lib/*": _where("/lib/"),
}
PATTERNS = sorted(COVERS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """A lease from the server's own history; times are its own, in microseconds."""

    id: int
    agent: str
    pattern: str
    exclusive: bool
    fencing: int
    begin: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Sure:
    """What a client knows it held: from the answer's arrival to the start of its release. Times are the client's."""

    agent: str
    pattern: str
    exclusive: bool
    fencing: int
    begin: float
    end: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Lost:
    agent: str
    path: str
    holders: list[dict[str, Any]]


@dataclass(slots=True)
class Record:
    sure: list[Sure] = field(default_factory=list)
    lost: list[Lost] = field(default_factory=list)
    answers: int = 0


def enter(server: Served, agents: int) -> list[str]:
    """The project and its agents."""
    names = [f"Agent{number}" for number in range(agents)]
    with server.connect() as connection:
        connection.call("ensure_project", human_key=PROJECT)
        for name in names:
            connection.call("register_agent", project_key=PROJECT, name=name, **PROFILE)
    return names


def fight(server: Served, names: list[str], seconds: float, *, seed: int = 1) -> Record:
    """Everybody at once, for so long; nobody holds anything in the end."""
    record = Record()
    gate = threading.Barrier(len(names))
    writing = threading.Lock()

    def one(number: int) -> None:
        dice = random.Random(seed * 1_000 + number)
        with server.connect() as connection:
            connection.request("GET", "/health/liveness")
            gate.wait()
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                _round(connection, names[number], dice, record, writing)

    with ThreadPoolExecutor(len(names)) as pool:
        list(pool.map(one, range(len(names))))
    return record


def _round(connection: Connection, name: str, dice: random.Random, record: Record, writing: threading.Lock) -> None:
    """One try, and a release of whatever it brought."""
    me = {"project_key": PROJECT, "agent_name": name}
    exclusive = dice.random() < 0.8
    asked = {"paths": dice.sample(PATTERNS, dice.randint(1, 2)), "exclusive": exclusive, "reason": f"for {name}"}
    if dice.random() < 0.2:
        asked["wait_seconds"] = 1
    answer = connection.call("file_reservation_paths", **me, **asked)
    begin = time.monotonic()
    if answer["granted"] and dice.random() < 0.3:
        connection.call("renew_file_reservations", **me)
    end = time.monotonic()
    if answer["granted"]:
        connection.call("release_file_reservations", **me)
    with writing:
        record.answers += 1
        record.sure += [
            Sure(
                agent=name,
                pattern=grant["path_pattern"],
                exclusive=grant["exclusive"],
                fencing=grant["fencing"],
                begin=begin,
                end=end,
            )
            for grant in answer["granted"]
        ]
        record.lost += [Lost(agent=name, path=one["path"], holders=one["holders"]) for one in answer["conflicts"]]


def read_history(server: Served) -> list[Held]:
    """Every lease there ever was, page by page."""
    found: list[Held] = []
    with server.connect() as connection:
        connection.open_session()
        after = 0
        while page := _page(connection, after):
            found += [_held(lease) for lease in page]
            after = page[-1]["id"]
    return found


def _page(connection: Connection, after: int) -> list[dict[str, Any]]:
    key = PROJECT.replace("/", "%2F")
    query = f"?active_only=false&limit=1000&after_id={after}"
    page: list[dict[str, Any]] = connection.read(f"resource://file_reservations/{key}{query}")
    return page


def _held(lease: dict[str, Any]) -> Held:
    ended = lease["released_ts"] or lease["expires_ts"]
    return Held(
        id=lease["id"],
        agent=lease["agent"],
        pattern=lease["path_pattern"],
        exclusive=lease["exclusive"],
        fencing=lease["fencing"],
        begin=from_datetime(datetime.fromisoformat(lease["created_ts"])),
        end=from_datetime(datetime.fromisoformat(ended)),
    )


def violations(history: list[Held], record: Record) -> list[str]:
    """Whoever held together what only one may hold; by the server's history, and by the clients' own clock."""
    return [*_together(history), *_together(record.sure), *_out_of_order(history)]


def _together(held: Sequence[Held] | Sequence[Sure]) -> Iterator[str]:
    for path in sorted(FILES):
        open_now: list[Held | Sure] = []
        for one in sorted((one for one in held if path in COVERS[one.pattern]), key=lambda one: one.begin):
            open_now = [other for other in open_now if other.end > one.begin]
            for other in open_now:
                if one.end > one.begin and one.agent != other.agent and (one.exclusive or other.exclusive):
                    yield f"{path}: {other} and {one}"
            open_now.append(one)


def _out_of_order(history: list[Held]) -> Iterator[str]:
    """Of two grants the later has the higher number."""
    ordered = sorted(history, key=lambda one: one.fencing)
    for one, other in pairwise(ordered):
        if one.begin > other.begin:
            yield f"{one} before {other}"


def ill_told(history: list[Held], record: Record) -> list[str]:
    """Losers who were not told of another agent whose lease, or waiting, stands in their way."""
    by_id = {held.id: held for held in history}
    return [
        f"{lost}"
        for lost in record.lost
        if not lost.holders or not all(_is_true(lost, holder, by_id) for holder in lost.holders)
    ]


def _is_true(lost: Lost, holder: dict[str, Any], by_id: dict[int, Held]) -> bool:
    if holder["agent"] == lost.agent:
        return False
    if holder["reservation_id"] is None:
        return bool(holder["waiting"])
    held = by_id[holder["reservation_id"]]
    named = (holder["agent"], holder["path_pattern"])
    return named == (held.agent, held.pattern) and bool(COVERS[held.pattern] & COVERS[lost.path])

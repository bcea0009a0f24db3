"""Those who wait in `check_mail`, each at a mailbox of its own: what they cost, and how soon they are told."""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from benchmarks.doors.servers import postal
from benchmarks.processes import Server
from benchmarks.report import Figure
from benchmarks.scenarios import wait_drained
from benchmarks.stand import Stand, require_archiver
from benchmarks.waiters.connections import Kind
from benchmarks.waiters.crowd import Crowd, allow_files
from benchmarks.waiters.house import PROJECT, SETTINGS, Waker, anonymous_kib, make_store, places, tree_cpu_s
from benchmarks.wire import Rpc

IDLE_TARGET = 0.01
WAKE_TARGET_MS = 50.0
KINDS = (Kind.DOOR_SESSION, Kind.DOOR_MODERN)
MAX_WAIT_S = 300
"""As long as the setting goes, so that nobody asks anew while the others are watched."""
SETTLED_AFTER_S = 6.0
"""What follows on a start, or on calls, has been written and committed by then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How many wait, in how many rounds; in each they are watched without mail so long, and so many are woken."""

    waiters: int
    rounds: int
    idle_s: float
    wakes: int


@dataclass(slots=True)
class Round:
    """Idle CPU as a share of a core, and ms from the answer to the sender until the answer to who waited."""

    idle: float
    woken_ms: list[float] = field(default_factory=list)


@dataclass(slots=True)
class Seen:
    """`alone` is the share of a core that the same server needs while nobody waits."""

    alone: list[float] = field(default_factory=list)
    memory_kib: float = 0.0
    rounds: list[Round] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        return {
            "alone": self.alone,
            "memory_kib": self.memory_kib,
            "idle": [one.idle for one in self.rounds],
            "woken_ms": [[round(ms, 3) for ms in one.woken_ms] for one in self.rounds],
        }


def run(stand: Stand, plan: Plan) -> Seen:
    """On a server of its own, which has ended when it returns."""
    allow_files(2 * plan.waiters)
    seen, root = Seen(), stand.scratch / "waiting"
    make_store(root / "mail.sqlite3", plan.waiters)
    settings = {**SETTINGS, **postal(PROJECT), "POSTAL_MAX_WAIT_SECONDS": str(MAX_WAIT_S)}
    server = stand.ours(root, Rpc(), **settings)
    require_archiver(server)
    time.sleep(SETTLED_AFTER_S)
    _watch(stand, server, "nobody waits", plan.idle_s, seen.alone)
    with (
        Crowd(places(server.port, KINDS, plan.waiters, PROJECT)) as crowd,
        closing(Waker(server, is_floor=False)) as waker,
    ):
        before = anonymous_kib(server)
        crowd.open()
        waker.until_waiting(crowd)
        wait_drained(server)
        seen.memory_kib = (anonymous_kib(server) - before) / plan.waiters
        for number in range(plan.rounds):
            seen.rounds.append(_round(stand, server, crowd, waker, number, plan))
    stand.stop(server)
    return seen


def _round(stand: Stand, server: Server, crowd: Crowd, waker: Waker, number: int, plan: Plan) -> Round:
    """All wait when it begins and when it ends."""
    time.sleep(SETTLED_AFTER_S)
    idle: list[float] = []
    _watch(stand, server, f"{plan.waiters} wait", plan.idle_s, idle)
    made, pick = Round(idle=idle[0]), random.Random(number)  # repeatable
    with stand.phase("one of them is woken", server):
        for _ in range(plan.wakes):
            who = pick.randrange(plan.waiters)
            made.woken_ms.append(waker.wake_one(crowd, who).last_ms)
            crowd.ask([who])
    waker.until_waiting(crowd)
    wait_drained(server)
    told = f"idle {made.idle:.4f} of a core, woken p95 {_p95(made.woken_ms):.2f} ms"
    print(f"round {number + 1}/{plan.rounds}: {told}", file=sys.stderr, flush=True)
    return made


def _watch(stand: Stand, server: Server, name: str, seconds: float, shares: list[float]) -> None:
    with stand.phase(name, server):
        before = tree_cpu_s(server)
        time.sleep(seconds)
        shares.append((tree_cpu_s(server) - before) / seconds)


def _p95(values: Sequence[float]) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))]


def figures(seen: Seen, waiters: int) -> list[Figure]:
    who = f"{waiters} in check_mail"
    middles = [sorted(one.woken_ms)[len(one.woken_ms) // 2] for one in seen.rounds]
    return [
        Figure(name=f"{who}: idle CPU", values=[o.idle for o in seen.rounds], unit="of a core", target=IDLE_TARGET),
        Figure(name="nobody waits: idle CPU", values=seen.alone, unit="of a core"),
        Figure(name=f"{who}: one woken, p50", values=middles, unit="ms"),
        Figure(
            name=f"{who}: one woken, p95",
            values=[_p95(one.woken_ms) for one in seen.rounds],
            unit="ms",
            target=WAKE_TARGET_MS,
        ),
        Figure(name=f"{who}: memory of each", values=[seen.memory_kib], unit="KiB"),
    ]

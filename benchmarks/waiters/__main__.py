"""What a thousand who wait for mail cost, and how soon they are told: `python -m benchmarks.waiters`.

Calls of both eras of MCP, streams of events, and both together, against the real server, beside bare FastMCP whose
calls wait for one event. See docs/reference/benchmarks.md.
"""

from __future__ import annotations

import argparse
import math
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.processes import Server
from benchmarks.report import Figure, publish, table
from benchmarks.scenarios import wait_drained
from benchmarks.stand import Stand, require_archiver
from benchmarks.waiters.connections import WAIT_S, Kind
from benchmarks.waiters.crowd import Crowd, Report, allow_files
from benchmarks.waiters.house import (
    PROJECT,
    SETTINGS,
    WARM,
    WARM_PROJECT,
    Waker,
    Woken,
    anonymous_kib,
    make_store,
    places,
    tree_cpu_s,
)
from benchmarks.wire import McpSession, Rpc

FLOOR = "benchmarks.waiters.floor"
ERAS = (Kind.SESSION, Kind.MODERN)
WAKE_TARGET_MS = 50.0
ALL_TARGET = 2.0
IDLE_TARGET = 0.01
STOP_TARGET_S = 3.0
GENERATOR_TARGET = 0.5
WAKES_WITHIN_S = 0.6 * WAIT_S
"""Of one round, so that no wait ends by itself while others are counted."""
IDLE_AT_ONCE_S = 0.6 * WAIT_S
QUIET_S = 2.0
"""After everybody began to wait: what they left is put away."""
SETTLED_AFTER_S = 6.0
"""What follows on a start, or on calls, has been written and committed by then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """`memory_kib` is the target for one who waits."""

    name: str
    kinds: tuple[Kind, ...]
    memory_kib: float


SCENARIOS = (
    Scenario(name="calls", kinds=ERAS, memory_kib=110),
    Scenario(name="streams", kinds=(Kind.STREAM,), memory_kib=40),
    Scenario(name="mixed", kinds=(Kind.SESSION, Kind.STREAM, Kind.MODERN, Kind.STREAM), memory_kib=75),
)


@dataclass(slots=True)
class Seen:
    """What one scenario saw. Memory in KiB above the idle server, by waiter; idle CPU as a share of a core."""

    one: list[Woken] = field(default_factory=list)
    everybody: list[Woken] = field(default_factory=list)
    floor: list[Woken] = field(default_factory=list)
    memory_kib: float = 0.0
    worn_kib: float = 0.0
    floor_memory_kib: float = 0.0
    idle: float = 0.0
    idle_alone: float = 0.0
    stop_s: float = 0.0
    ended: Report = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        woken = {
            name: [
                {
                    "last_ms": round(one.last_ms, 3),
                    "span_ms": round(one.span_ms, 3),
                    "since_request_ms": round(one.since_request_ms, 3),
                    "cpu_ms": round(one.cpu_ms, 1),
                    "crowd_cpu_ms": round(one.crowd_cpu_ms, 3),
                }
                for one in wakes
            ]
            for name, wakes in (("everybody", self.everybody), ("floor", self.floor))
        }
        return {"one_ms": [round(one.last_ms, 3) for one in self.one], **woken, "ended": self.ended}


def parse(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.waiters", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few rounds, for development")
    parser.add_argument("--waiters", type=int, default=1_000, help="how many wait (default 1000)")
    parser.add_argument("--rounds", type=int, help="alternating rounds of each scenario (default 8, quick 2)")
    parser.add_argument("--wakes", type=int, help="single wakes of each round (default 50, quick 10)")
    parser.add_argument("--idle-s", type=float, help="watched without mail (default 60, quick 6)")
    parser.add_argument("--only", default="", help="scenarios whose name holds this")
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/waiters.json"))
    chosen = parser.parse_args(argv)
    for name, full, quick in (("rounds", 8, 2), ("wakes", 50, 10), ("idle_s", 60.0, 6.0)):
        if getattr(chosen, name) is None:
            setattr(chosen, name, quick if chosen.quick else full)
    return chosen


def warm_up(server: Server, kinds: tuple[Kind, ...], *, is_floor: bool) -> None:
    """A few wait once and are woken: what is made for the first of them is not counted as everybody's."""
    project = None if is_floor else WARM_PROJECT
    with (
        Crowd(places(server.port, kinds, WARM, project)) as crowd,
        closing(Waker(server, is_floor=is_floor, project=WARM_PROJECT)) as waker,
    ):
        waker.until_waiting(crowd)
        waker.wake_all(crowd)
    if not is_floor:
        with closing(Waker(server, is_floor=False)) as waker:
            waker.until_nobody()


@dataclass(frozen=True, slots=True)
class Side:
    crowd: Crowd
    waker: Waker

    def all_wait(self) -> None:
        self.waker.until_waiting(self.crowd)


def run(stand: Stand, scenario: Scenario, chosen: argparse.Namespace) -> Seen:
    """On servers of its own, which have ended when it returns."""
    root, seen = stand.scratch / scenario.name, Seen()
    make_store(root / "mail.sqlite3", chosen.waiters)
    ours = stand.ours(root, Rpc(), **SETTINGS)
    require_archiver(ours)
    warm_up(ours, scenario.kinds, is_floor=False)
    time.sleep(SETTLED_AFTER_S)
    with stand.phase(f"{scenario.name}, nobody waits", ours):
        seen.idle_alone = idle_share(ours, min(chosen.idle_s, IDLE_AT_ONCE_S))
    with Crowd(places(ours.port, scenario.kinds, chosen.waiters, PROJECT)) as crowd:
        with floor_of_waiters(stand) as floor, closing(Waker(ours, is_floor=False)) as waker:
            beside_floor(stand, scenario, seen, (Side(crowd, waker), floor), chosen)
        seen.idle = idle_with_all(stand, scenario, ours, crowd, chosen.idle_s)
        stop_with_all(stand, ours, crowd, seen)
    return seen


@contextmanager
def floor_of_waiters(stand: Stand) -> Iterator[Server]:
    """It is killed in the end: it does not stop while a call waits."""
    floor = stand.floor(McpSession(), module=FLOOR)
    try:
        warm_up(floor, ERAS, is_floor=True)
        yield floor
    finally:
        stand.kill(floor)


def beside_floor(
    stand: Stand, scenario: Scenario, seen: Seen, both: tuple[Side, Server], chosen: argparse.Namespace
) -> None:
    """Memory, and rounds in alternation."""
    ours, floor_server = both
    with (
        Crowd(places(floor_server.port, ERAS, chosen.waiters, None)) as crowd,
        closing(Waker(floor_server, is_floor=True)) as waker,
    ):
        floor = Side(crowd, waker)
        seen.memory_kib = memory_of_each(ours)
        seen.floor_memory_kib = memory_of_each(floor)
        for number in range(chosen.rounds):
            if number % 2:
                floor_round(stand, scenario, seen, floor)
            one_round(stand, scenario, seen, ours, chosen.wakes)
            if not number % 2:
                floor_round(stand, scenario, seen, floor)
            say(scenario, number, seen)


def memory_of_each(side: Side) -> float:
    """KiB that everybody who waits added, by waiter. They wait when it returns."""
    before = anonymous_kib(side.waker.server)
    side.crowd.open()
    side.all_wait()
    time.sleep(QUIET_S)
    return (anonymous_kib(side.waker.server) - before) / len(side.crowd.places)


def one_round(stand: Stand, scenario: Scenario, seen: Seen, side: Side, wakes: int) -> None:
    """Some are woken one by one, and wait again; then all by one message."""
    side.all_wait()
    pick, ends = random.Random(len(seen.everybody)), time.monotonic() + WAKES_WITHIN_S
    with stand.phase(f"{scenario.name}, one of all", side.waker.server):
        for _ in range(wakes):
            if time.monotonic() > ends:
                break
            number = pick.randrange(len(side.crowd.places))
            seen.one.append(side.waker.wake_one(side.crowd, number))
            side.crowd.ask([number])
    side.all_wait()
    with stand.phase(f"{scenario.name}, everybody", side.waker.server):
        seen.everybody.append(side.waker.wake_all(side.crowd))


def floor_round(stand: Stand, scenario: Scenario, seen: Seen, side: Side) -> None:
    side.all_wait()
    with stand.phase(f"{scenario.name}, everybody at the floor", side.waker.server):
        seen.floor.append(side.waker.wake_all(side.crowd))


def idle_share(server: Server, seconds: float) -> float:
    before = tree_cpu_s(server)
    time.sleep(seconds)
    return (tree_cpu_s(server) - before) / seconds


def idle_with_all(stand: Stand, scenario: Scenario, server: Server, crowd: Crowd, seconds: float) -> float:
    """In pieces shorter than a call may wait: asking anew is not idling. Streams see it in the same pieces."""
    wait_drained(server)
    pieces = math.ceil(seconds / IDLE_AT_ONCE_S)
    shares = []
    for _ in range(pieces):
        with closing(Waker(server, is_floor=False)) as waker:
            Side(crowd, waker).all_wait()
            time.sleep(SETTLED_AFTER_S)
            with stand.phase(f"{scenario.name}, idle", server):
                shares.append(idle_share(server, seconds / pieces))
            waker.wake_all(crowd)
        wait_drained(server)
    return statistics.fmean(shares)


def stop_with_all(stand: Stand, server: Server, crowd: Crowd, seen: Seen) -> None:
    with closing(Waker(server, is_floor=False)) as waker:
        Side(crowd, waker).all_wait()
        seen.worn_kib = anonymous_kib(server)
    wait_drained(server)
    crowd.expect_end()
    began = time.perf_counter()
    stand.stop(server)
    seen.stop_s = time.perf_counter() - began
    seen.ended = crowd.ended()


def say(scenario: Scenario, number: int, seen: Seen) -> None:
    ours, floor = seen.everybody[-1], seen.floor[-1]
    print(
        f"{scenario.name} {number + 1}: last {ours.last_ms:.0f} ms, floor {floor.last_ms:.0f} ms,"
        f" one p50 {statistics.median(one.last_ms for one in seen.one):.1f} ms",
        file=sys.stderr,
        flush=True,
    )


def percentile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def figures(scenario: Scenario, seen: Seen, count: int) -> list[Figure]:
    who = f"{count} {scenario.name}"
    one = [woken.last_ms for woken in seen.one]
    pairs = list(zip(seen.everybody, seen.floor, strict=True))
    generator = sum(woken.crowd_cpu_ms for woken in seen.floor) / sum(woken.cpu_ms for woken in seen.floor)
    return [
        Figure(name=f"{who}: one woken, p50", values=[percentile(one, 0.5)], unit="ms"),
        Figure(name=f"{who}: one woken, p95", values=[percentile(one, 0.95)], unit="ms", target=WAKE_TARGET_MS),
        Figure(
            name=f"{who}: last of all after a send to all, multiple of the floor's",
            values=[ours.last_ms / floor.last_ms for ours, floor in pairs],
            target=ALL_TARGET,
        ),
        Figure(name=f"{who}: last of all after a send to all", values=[a.last_ms for a in seen.everybody], unit="ms"),
        Figure(name="floor: last of all after the event", values=[a.last_ms for a in seen.floor], unit="ms"),
        Figure(
            name=f"{who}: first to last answer, multiple of the floor's",
            values=[ours.span_ms / floor.span_ms for ours, floor in pairs],
        ),
        Figure(
            name=f"{who}: CPU of the server for a send to all and its answers, multiple of the floor's",
            values=[ours.cpu_ms / max(floor.cpu_ms, 1.0) for ours, floor in pairs],
        ),
        Figure(name=f"{who}: memory of each", values=[seen.memory_kib], unit="KiB", target=scenario.memory_kib),
        Figure(name="floor: memory of each call that waits", values=[seen.floor_memory_kib], unit="KiB"),
        Figure(name=f"{who}: idle CPU", values=[seen.idle], unit="of a core", target=IDLE_TARGET),
        Figure(name="nobody waits: idle CPU", values=[seen.idle_alone], unit="of a core"),
        Figure(name=f"{who}: stop", values=[seen.stop_s], unit="s", target=STOP_TARGET_S),
        Figure(name=f"{who}: neither answered nor ended", values=[seen.ended["silent"]], target=0),
        Figure(
            name="load generator: CPU by the floor's, while all are answered",
            values=[generator],
            target=GENERATOR_TARGET,
        ),
    ]


def main() -> int:
    chosen = parse(sys.argv[1:])
    allow_files(2 * chosen.waiters)
    found: dict[str, Seen] = {}
    shown: list[Figure] = []
    with tempfile.TemporaryDirectory(prefix="agent-mail-waiters-") as scratch, Stand(Path(scratch)) as stand:
        for scenario in SCENARIOS:
            if chosen.only in scenario.name:
                found[scenario.name] = run(stand, scenario, chosen)
                of_this = figures(scenario, found[scenario.name], chosen.waiters)
                title = f"{chosen.waiters} {scenario.name} (median of {chosen.rounds} rounds, range)"
                print(table(title, of_this), flush=True)
                shown += of_this
    scenarios = {name: seen.as_json() for name, seen in found.items()}
    return publish(shown, stand.seen, chosen.json, waiters=chosen.waiters, scenarios=scenarios)


if __name__ == "__main__":
    sys.exit(main())

"""What a reservation costs: `python -m benchmarks.leases`, see docs/reference/benchmarks.md.

Reserving and releasing at 1 and 20 clients, with no live lease and with 10,000, each beside the floor, in
alternation. Then calls of 500 hostile patterns against the 10,000, and how long other writers wait meanwhile.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.load import Sample, drive
from benchmarks.mix import Echo
from benchmarks.processes import Server, cpu_s
from benchmarks.report import Figure, publish, table
from benchmarks.scenarios import call, wait_drained
from benchmarks.stand import Stand
from benchmarks.wire import McpSession, Refused

PROJECT = "/bench/leases"
CLIENTS = (1, 20)
LIVE = 10_000
HOLDERS = 20
AT_ONCE = 250
SHARE = 0.4
TIMES = 1.3
WAIT_MS = 50.0
HOSTILE_CALLS = 5
PROFILE = {"program": "bench", "model": "none"}

Phase = dict[str, float]


class HoldAndRelease:
    """One agent that reserves a path nobody else wants, and gives it back."""

    def __init__(self, agent: str) -> None:
        self._agent = agent
        self._turn = 0

    def next(self) -> tuple[str, str, dict[str, Any]]:
        number, is_release = divmod(self._turn, 2)
        self._turn += 1
        paths = [f"fresh/{self._agent}/dir{number % 10}/file{number}.txt"]
        arguments = {"project_key": PROJECT, "agent_name": self._agent, "paths": paths}
        if is_release:
            return "release", "release_file_reservations", arguments
        return "reserve", "file_reservation_paths", arguments

    def answered(self, kind: str, body: bytes) -> None:
        expected = b'\\"released\\":1' if kind == "release" else b'\\"conflicts\\":[]'
        if expected not in body:
            raise Refused(f"{kind}: {body[:400]!r}")


def live_patterns() -> Iterator[tuple[str, list[str], bool]]:
    """Half exclusive literal paths, a quarter shared `dir/**`, a quarter shared `**/*.ext`: holder, patterns, kind."""
    of_each = LIVE // HOLDERS
    for holder in range(HOLDERS):
        numbers = range(holder * of_each, (holder + 1) * of_each)
        yield f"Holder{holder}", [f"pkg{n % 100}/mod{n}/file.py" for n in numbers if n % 4 < 2], True
        shared = [f"shared{n}/**" if n % 4 == 2 else f"**/*.e{n}" for n in numbers if n % 4 >= 2]
        yield f"Holder{holder}", shared, False


def populate(server: Server, *, live: bool) -> None:
    call(server, "ensure_project", human_key=PROJECT)
    for name in (*(f"Worker{n}" for n in range(max(CLIENTS))), *(f"Holder{n}" for n in range(HOLDERS)), "Hostile"):
        call(server, "register_agent", project_key=PROJECT, name=name, **PROFILE)
    for holder, patterns, exclusive in live_patterns() if live else ():
        for start in range(0, len(patterns), AT_ONCE):
            answer = call(
                server,
                "file_reservation_paths",
                project_key=PROJECT,
                agent_name=holder,
                paths=patterns[start : start + AT_ONCE],
                exclusive=exclusive,
                ttl_seconds=86_400,
            )
            if answer["conflicts"]:
                raise Refused(f"seeding: {answer['conflicts'][0]}")
    wait_drained(server)


def measure(stand: Stand, name: str, server: Server, clients: int, seconds: float) -> Phase:
    is_floor = server.name == "floor"
    scripts = [Echo() if is_floor else HoldAndRelease(f"Worker{number}") for number in range(clients)]
    with stand.phase(f"{name} at {clients}", server) as seen:
        before = cpu_s(server.process.pid)
        sample: Sample = drive(server.port, [(McpSession(), script) for script in scripts], seconds)
        cpu_us = 1e6 * (cpu_s(server.process.pid) - before) / max(1, sample.answered)
    if sample.failures or not sample.counted:
        raise Refused(f"{sample.failures} calls failed: {sample.first_failure}")
    if not is_floor:
        give_back(server, clients)
        wait_drained(server)
    return {
        "per_second": sample.per_second,
        "p50_ms": sample.percentile(0.5),
        "cpu_us": cpu_us,
        "loop_waited_ms": 1e3 * seen.waited_s("loop") / seen.seconds,
        "writer_waited_ms": 1e3 * seen.waited_s("writer") / seen.seconds,
    }


def give_back(server: Server, clients: int) -> None:
    for number in range(clients):
        call(server, "release_file_reservations", project_key=PROJECT, agent_name=f"Worker{number}")


def hostile(server: Server) -> tuple[list[float], list[float], int]:
    """Seconds of each hostile call, the waits of another writer meanwhile in ms, and how many calls were refused."""
    patterns = [("*a" * 511) + str(number % 10) for number in range(500)]
    waits: list[float] = []
    is_over = threading.Event()

    def write_on() -> None:
        while not is_over.is_set():
            began = time.perf_counter()
            call(server, "set_status", project_key=PROJECT, agent_name="Worker0", status="ready")
            waits.append(1e3 * (time.perf_counter() - began))

    writer = threading.Thread(target=write_on)
    writer.start()
    lasted, refused = [], 0
    for _ in range(HOSTILE_CALLS):
        began = time.perf_counter()
        try:
            call(server, "file_reservation_paths", project_key=PROJECT, agent_name="Hostile", paths=patterns)
        except OSError:
            refused += 1
        lasted.append(time.perf_counter() - began)
    is_over.set()
    writer.join()
    return lasted, waits, refused


def figures(pairs: list[dict[str, Phase]]) -> list[Figure]:
    found = []
    for clients in CLIENTS:
        for live in ("0", "10,000"):
            for field, label in (("per_second", "requests/s"), ("cpu_us", "CPU of the server per call")):
                shares = [pair[f"{live} at {clients}"][field] / pair[f"floor at {clients}"][field] for pair in pairs]
                name = f"reserve and release, {clients} clients, {live} live leases: share of the floor's {label}"
                if field == "cpu_us":
                    name = (
                        f"reserve and release, {clients} clients, {live} live leases: multiple of the floor's {label}"
                    )
                target = SHARE if field == "per_second" else None
                found.append(Figure(name=name, values=shares, target=target, at_least=True))
        for field in ("p50_ms", "cpu_us"):
            times = [pair[f"10,000 at {clients}"][field] / pair[f"0 at {clients}"][field] for pair in pairs]
            name = f"{clients} clients, 10,000 live leases, multiple of none: {field}"
            found.append(Figure(name=name, values=times, target=TIMES))
    return found


def measure_pair(stand: Stand, servers: dict[str, Server], number: int, seconds: float) -> dict[str, Phase]:
    """Every phase once; odd rounds run in reverse order."""
    phases = [(name, clients) for clients in CLIENTS for name in servers]
    pair = {}
    for name, clients in phases if number % 2 == 0 else reversed(phases):
        phase = measure(stand, name, servers[name], clients, seconds)
        pair[f"{name} at {clients}"] = phase
        print(f"  {name} at {clients}: {phase}", file=sys.stderr, flush=True)
    return pair


def start_all(stand: Stand) -> dict[str, Server]:
    servers = {"floor": stand.floor(McpSession())}
    for name in ("0", "10,000"):
        servers[name] = stand.ours(stand.scratch / f"store-{len(servers)}", McpSession())
        populate(servers[name], live=name != "0")
    return servers


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.leases", description=__doc__)
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/leases.json"))
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="agent-mail-leases-") as folder, Stand(Path(folder)) as stand:
        servers = start_all(stand)
        pairs = [measure_pair(stand, servers, number, chosen.seconds) for number in range(chosen.pairs)]
        with stand.phase("hostile patterns", servers["10,000"]):
            lasted, waits, refused = hostile(servers["10,000"])
    waits.sort()
    found = [
        *figures(pairs),
        Figure(name="a call of 500 hostile patterns against 10,000 live leases", values=lasted, unit="s"),
        Figure(name="another writer meanwhile, p50", values=[waits[len(waits) // 2]], unit="ms"),
        Figure(name="another writer meanwhile, p99", values=[waits[int(len(waits) * 0.99)]], unit="ms"),
        Figure(name="another writer meanwhile, longest", values=[waits[-1]], unit="ms", target=WAIT_MS),
    ]
    print(table("Reservations (median of the pairs, range, spread against itself)", found))
    print(f"hostile calls refused: {refused} of {HOSTILE_CALLS}")
    return publish(found, stand.seen, chosen.json, pairs=pairs)


if __name__ == "__main__":
    sys.exit(main())

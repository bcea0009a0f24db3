"""What is measured: each scenario on our server beside the same number of clients on the floor."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.evidence import Seen
from benchmarks.load import Sample, Script, drive, run_all
from benchmarks.mix import Echo, MixedWork, OnlySends, Pool, agent_names
from benchmarks.processes import Server, cpu_s
from benchmarks.stand import Stand
from benchmarks.wire import Dialect, McpSession, Refused, Rpc

PROJECT = "/bench/project"
AGENTS = 110
CLIENTS = 20
SENDERS = 100
RECIPIENTS = 10
DRAIN_WITHIN_S = 120.0
_LOOK_S = 0.05

Pairs = list[tuple[Dialect, Script]]


def call(server: Server, tool: str, **arguments: Any) -> Any:  # noqa: ANN401  # plain JSON
    """One call over `/rpc`, outside every measurement."""
    request = urllib.request.Request(  # our own server
        f"http://127.0.0.1:{server.port}/rpc/{tool}",
        data=json.dumps(arguments).encode(),
        headers={"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=DRAIN_WITHIN_S) as answer:  # our own server
        return json.load(answer)


def wait_drained(server: Server) -> float:
    """Seconds until the archive has caught up with everything committed so far."""
    began = time.perf_counter()
    while (pending := call(server, "health_check")["archive"]["pending_events"]) > 0:
        if time.perf_counter() - began > DRAIN_WITHIN_S:
            raise Refused(f"{pending} events are still not in Git after {DRAIN_WITHIN_S} s")
        time.sleep(_LOOK_S)
    return time.perf_counter() - began


def populate(server: Server, messages: int) -> dict[str, float]:
    """The project, its agents, and `messages` messages of varied text, all in Git before anything is measured."""
    call(server, "ensure_project", human_key=PROJECT)
    for name in agent_names(AGENTS):
        call(server, "register_agent", project_key=PROJECT, program="bench", model="none", name=name)
    pool = Pool(seed=1)
    sample = run_all(server.port, sends(Rpc, CLIENTS, 2, pool, seed=1), messages)
    _require_success("seeding", sample)
    return {"messages": messages, "sends_per_s": sample.per_second, "drain_s": wait_drained(server)}


def sends(dialect: Callable[[], Dialect], clients: int, recipients: int, pool: Pool, seed: int) -> Pairs:
    names = agent_names(AGENTS)
    return [
        (dialect(), OnlySends(PROJECT, names[n], names, pool, recipients=recipients, seed=1000 * seed + n))
        for n in range(clients)
    ]


def mixed(dialect: Callable[[], Dialect], pool: Pool, seed: int) -> Pairs:
    names = agent_names(AGENTS)[:CLIENTS]
    return [(dialect(), MixedWork(PROJECT, name, names, pool, 1000 * seed + n)) for n, name in enumerate(names)]


def _echoes(clients: int) -> Pairs:
    return [(McpSession(), Echo()) for _ in range(clients)]


def _require_success(name: str, sample: Sample) -> None:
    if sample.failures or not sample.counted:
        raise Refused(f"{name}: {sample.failures} calls failed, {sample.counted} succeeded. {sample.first_failure}")


@dataclass(slots=True)
class Measured:
    """One phase: the load's figures, and the archive's where it was watched."""

    sample: Sample
    seen: Seen
    archive: dict[str, Any] | None = None
    drain_s: float | None = None
    server_cpu_s: float = 0.0

    def as_json(self) -> dict[str, Any]:
        kinds = {
            kind: {
                "calls": len(values),
                "p50_ms": round(self.sample.percentile(0.5, kind), 3),
                "p99_ms": round(self.sample.percentile(0.99, kind), 3),
            }
            for kind, values in sorted(self.sample.latencies_ms.items())
        }
        parts = {
            part: {
                "cpu_us": round(1e6 * use.cpu_s / self.sample.answered, 1),
                "waited_ms": round(1e3 * use.waited_s / self.seen.seconds, 2),
                "major_faults": use.major_faults,
            }
            for part, use in self.seen.uses.items()
        }
        return {
            "per_second": round(self.sample.per_second, 1),
            "p50_ms": round(self.sample.percentile(0.5), 3),
            "p99_ms": round(self.sample.percentile(0.99), 3),
            "server_cpu_us": round(1e6 * self.server_cpu_s / self.sample.answered, 1),
            "client_cpu": round(self.sample.client_cpu, 3),
            "parts": parts,
            "kinds": kinds,
            "archive": self.archive,
            "drain_s": None if self.drain_s is None else round(self.drain_s, 2),
        }


@contextmanager
def _watched(database: Path) -> Iterator[Callable[[], dict[str, Any]]]:
    """The outbox sampler beside a phase; call what it yields to end the sampling and have its figures."""
    watch = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.sampler", str(database)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )

    def finish() -> dict[str, Any]:
        output, _ = watch.communicate()
        figures: dict[str, Any] = json.loads(output)
        return figures

    try:
        yield finish
    finally:
        if watch.poll() is None:
            watch.kill()
            watch.communicate()


class Bench:
    """Both servers and how long each phase lasts. A phase on ours ends when the archive has caught up."""

    def __init__(self, stand: Stand, floor: Server, ours: Server, database: Path, seconds: float) -> None:
        self._stand = stand
        self._floor = floor
        self._ours = ours
        self._database = database
        self._seconds = seconds
        self._pool = Pool(seed=2)

    def floor(self, clients: int) -> Measured:
        with self._stand.phase(f"floor, {clients} clients", self._floor) as seen:
            cpu_before = cpu_s(self._floor.process.pid)
            sample = drive(self._floor.port, _echoes(clients), self._seconds)
            used_s = cpu_s(self._floor.process.pid) - cpu_before
        _require_success("floor", sample)
        return Measured(sample, seen, server_cpu_s=used_s)

    def mixed(self, seed: int) -> Measured:
        return self._on_ours("mixed over MCP", mixed(McpSession, self._pool, seed))

    def mixed_rpc(self, seed: int) -> Measured:
        return self._on_ours("mixed over /rpc", mixed(Rpc, self._pool, 500 + seed))

    def sends(self, clients: int, recipients: int, seed: int) -> Measured:
        return self._on_ours(
            f"{clients} senders to {recipients}", sends(McpSession, clients, recipients, self._pool, seed)
        )

    def _on_ours(self, name: str, pairs: Pairs) -> Measured:
        with _watched(self._database) as finish:
            with self._stand.phase(name, self._ours) as seen:
                cpu_before = cpu_s(self._ours.process.pid)
                sample = drive(self._ours.port, pairs, self._seconds)
                server_cpu_s = cpu_s(self._ours.process.pid) - cpu_before
            drain_s = wait_drained(self._ours)
            archive = finish()
        _require_success(name, sample)
        return Measured(sample, seen, archive, drain_s, server_cpu_s)

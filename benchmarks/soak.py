"""`python -m benchmarks.soak`: 50,000 sends to one server, and what grows meanwhile.

Sends come in blocks of a thousand over `POST /rpc/send_message`, archive on. After each block the
archive catches up, and the process tree and its files are weighed at rest. Before each block the
floor's echo is called as often by as many clients, so that other work on the machine is told apart.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sqlite3
import statistics
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.__main__ import machine, say
from benchmarks.load import Script, run_all
from benchmarks.mix import Echo, OnlySends, Pool
from benchmarks.processes import Server, cpu_s
from benchmarks.report import Figure, publish, table
from benchmarks.scenarios import call, wait_drained
from benchmarks.stand import Stand
from benchmarks.weights import Weight, weigh
from benchmarks.wire import Dialect, McpSession, Refused, Rpc

PROJECTS = 5
AGENTS_EACH = 20
CLIENTS = 8
BLOCK = 1_000
WARMED_BY = 5_000
"""Sends after which caches count as full: growth is counted from here."""
LAST_WEIGHTS = 5
RESTARTS = 3

MAX_GROWTH = 1.05
MAX_SLOWER = 1.15
MAX_START = 1.25


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One thousand sends: `sends` is the count so far, all of them in Git."""

    sends: int
    p50_ms: float
    p99_ms: float
    floor_p50_ms: float
    per_second: float
    server_cpu_us: float
    drain_s: float
    weight: Weight

    def as_json(self) -> dict[str, Any]:
        return {
            "sends": self.sends,
            "p50_ms": round(self.p50_ms, 3),
            "p99_ms": round(self.p99_ms, 3),
            "floor_p50_ms": round(self.floor_p50_ms, 3),
            "per_second": round(self.per_second, 1),
            "server_cpu_us": round(self.server_cpu_us, 1),
            "drain_s": round(self.drain_s, 2),
            **self.weight.as_json(),
        }


def parse(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="8,000 sends: for development")
    parser.add_argument("--sends", type=int, help="default 50,000; 8,000 with --quick; whole thousands")
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/soak.json"), help="where the figures go")
    parser.add_argument("--scratch", type=Path, help="folder for the store, kept afterwards (default: a temporary one)")
    chosen = parser.parse_args(argv)
    chosen.sends = max(WARMED_BY + 2 * BLOCK, (chosen.sends or (8_000 if chosen.quick else 50_000)) // BLOCK * BLOCK)
    return chosen


def populate(server: Server) -> None:
    for project in range(PROJECTS):
        call(server, "ensure_project", human_key=_project(project))
        for name in _names():
            call(server, "register_agent", project_key=_project(project), program="soak", model="none", name=name)


def _project(number: int) -> str:
    return f"/soak/project-{number}"


def _names() -> list[str]:
    return [f"Worker{number:02d}" for number in range(AGENTS_EACH)]


def senders(pool: Pool) -> list[tuple[Dialect, Script]]:
    """One to three recipients each, over all projects; each client stays one agent for the whole run."""
    names = _names()
    return [
        (Rpc(), OnlySends(_project(n % PROJECTS), names[n], names, pool, recipients=1 + n % 3, seed=9_000 + n))
        for n in range(CLIENTS)
    ]


def soak(stand: Stand, server: Server, floor: Server, root: Path, sends: int) -> list[Block]:
    scripts = senders(Pool(seed=5))
    greeters = [McpSession() for _ in range(CLIENTS)]
    blocks: list[Block] = []
    for so_far in range(BLOCK, sends + 1, BLOCK):
        with stand.phase(f"sends {so_far - BLOCK:,} to {so_far:,}", server):
            echoes = run_all(floor.port, [(dialect, Echo()) for dialect in greeters], BLOCK)
            cpu_before = cpu_s(server.process.pid)
            sample = run_all(server.port, scripts, BLOCK)
            cpu = cpu_s(server.process.pid) - cpu_before
        if sample.failures:
            raise Refused(f"{sample.failures} sends failed: {sample.first_failure}")
        drain_s = wait_drained(server)
        block = Block(
            sends=so_far,
            p50_ms=sample.percentile(0.5),
            p99_ms=sample.percentile(0.99),
            floor_p50_ms=echoes.percentile(0.5),
            per_second=sample.per_second,
            server_cpu_us=1e6 * cpu / BLOCK,
            drain_s=drain_s,
            weight=weigh(server.process.pid, root),
        )
        blocks.append(block)
        say(" ".join(f"{name} {value}" for name, value in block.as_json().items()))
    return blocks


def measure_restarts(stand: Stand, root: Path) -> list[dict[str, float]]:
    """Starts on the full store next to starts on none, in alternation."""
    starts = []
    for number in range(RESTARTS):
        record: dict[str, float] = {}
        for name in ("none", "full") if number % 2 == 0 else ("full", "none"):
            with stand.beside(f"start on {name}"):
                server = stand.ours(root if name == "full" else stand.scratch / f"none-{number}", McpSession())
            record[name] = round(server.first_answer_s, 3)
            stand.stop(server)
        starts.append(record)
        say(f"start: {record}")
    return starts


def figures(blocks: Sequence[Block], starts: Sequence[dict[str, float]]) -> list[Figure]:
    """The targets, and beside them what only is reported."""
    warmed, reference = (next(one for one in blocks if one.sends == WARMED_BY + more) for more in (0, BLOCK))
    later = [one.weight for one in blocks if one.sends > WARMED_BY]
    last = blocks[-1]
    return [
        Figure(
            name="memory (PSS of all lasting processes), end by 5,000 sends",
            values=[one.lasting_pss_mib / warmed.weight.lasting_pss_mib for one in later[-LAST_WEIGHTS:]],
            target=MAX_GROWTH,
        ),
        Figure(
            name="send p50, last thousand by sends 5,000-6,000",
            values=[last.p50_ms / reference.p50_ms],
            target=MAX_SLOWER,
        ),
        Figure(
            name="file handles, end less 5,000 sends",
            # The least of the last: the pipes to a Git child that is repacking are no handles that stay.
            values=[min(one.file_handles for one in later[-LAST_WEIGHTS:]) - warmed.weight.file_handles],
            target=0,
        ),
        Figure(
            name="first successful call, full store by none",
            values=[start["full"] / start["none"] for start in starts],
            target=MAX_START,
        ),
        Figure(
            name="the p50s as multiples of the floor's, last thousand by sends 5,000-6,000",
            values=[(last.p50_ms / last.floor_p50_ms) / (reference.p50_ms / reference.floor_p50_ms)],
        ),
        Figure(
            name="CPU of the server per send, last thousand by sends 5,000-6,000",
            values=[last.server_cpu_us / reference.server_cpu_us],
        ),
        Figure(name="memory (PSS) after 5,000 sends", values=[warmed.weight.lasting_pss_mib], unit="MiB"),
        *_weights(later),
        Figure(name="send p50", values=[one.p50_ms for one in blocks], unit="ms"),
        Figure(name="sends, 8 clients", values=[one.per_second for one in blocks], unit="/s"),
        *_bytes_per_message(last),
    ]


def _weights(later: Sequence[Weight]) -> list[Figure]:
    return [
        Figure(name="memory (PSS) afterwards", values=[one.lasting_pss_mib for one in later], unit="MiB"),
        Figure(name="of the server alone", values=[one.server_pss_mib for one in later], unit="MiB"),
        Figure(name="of passing Git children", values=[one.git_pss_mib for one in later], unit="MiB"),
        Figure(name="WAL", values=[one.wal_mib for one in later], unit="MiB"),
        Figure(name="packs", values=[one.packs for one in later]),
    ]


def _bytes_per_message(last: Block) -> list[Figure]:
    held = {"archive on disk": last.weight.archive_mib, "database": last.weight.database_mib}
    return [
        Figure(name=f"{name} per message, at the end", values=[mib * 2**20 / last.sends], unit="bytes")
        for name, mib in held.items()
    ]


def require_all_stored(root: Path, sends: int) -> None:
    with sqlite3.connect(f"{(root / 'mail.sqlite3').absolute().as_uri()}?mode=ro", uri=True) as database:
        (stored,) = database.execute("SELECT count(*) FROM messages").fetchone()
        (waiting,) = database.execute("SELECT count(*) FROM outbox WHERE commit_id IS NULL").fetchone()
    if (stored, waiting) != (sends, 0):
        raise Refused(f"{sends} sends were answered; {stored} are stored, {waiting} events are not in Git")


def measure(chosen: argparse.Namespace, stand: Stand) -> tuple[list[Block], list[dict[str, float]]]:
    root = stand.scratch / "store"
    floor, server = stand.floor(McpSession()), stand.ours(root, McpSession())
    populate(server)
    wait_drained(server)
    blocks = soak(stand, server, floor, root, chosen.sends)
    stand.stop(server)
    stand.stop(floor)
    require_all_stored(root, chosen.sends)
    return blocks, measure_restarts(stand, root)


def main() -> int:
    """0, or an exit code of `benchmarks.report`."""
    chosen = parse(sys.argv[1:])
    scratch = chosen.scratch or Path(tempfile.mkdtemp(prefix="agent-mail-soak-"))
    scratch.mkdir(parents=True, exist_ok=True)
    load_before = round(os.getloadavg()[0], 2)
    try:
        with Stand(scratch) as stand:
            blocks, starts = measure(chosen, stand)
    finally:
        if chosen.scratch is None:
            shutil.rmtree(scratch, ignore_errors=True)
    found = figures(blocks, starts)
    print(table(f"Soak of {chosen.sends} sends", found))
    print(f"load average before: {load_before}")
    conditions = {
        "sends": chosen.sends,
        "clients": CLIENTS,
        "projects": PROJECTS,
        "agents": PROJECTS * AGENTS_EACH,
        "load_average_before": load_before,
        "machine": machine(),
    }
    return publish(
        found,
        stand.seen,
        chosen.json,
        conditions=conditions,
        median_latency_ms=round(statistics.median(block.p50_ms for block in blocks), 3),
        blocks=[block.as_json() for block in blocks],
        starts=starts,
    )


if __name__ == "__main__":
    sys.exit(main())

"""`python -m benchmarks`: see docs/reference/benchmarks.md for what each figure means."""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks import mix
from benchmarks.processes import pss_mib
from benchmarks.report import NO_EVIDENCE, Figure, Pair, load_figures, publish, raw_figures, start_figures, table
from benchmarks.scenarios import AGENTS, CLIENTS, RECIPIENTS, SENDERS, Bench, Measured, populate, wait_drained
from benchmarks.stand import Stand
from benchmarks.weights import Weight, weigh
from benchmarks.wire import McpSession

CLIENT_CPU_LIMIT = 0.8
SETTLE_S = 2.0


def parse(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="2 short pairs over 1,000 messages: for development only")
    parser.add_argument("--pairs", type=int, help="alternating pairs (default 10; 2 with --quick)")
    parser.add_argument("--seconds", type=float, help="measured time per phase (default 4; 1.5 with --quick)")
    parser.add_argument("--messages", type=int, help="messages stored before it begins (default 10,000)")
    parser.add_argument(
        "--json", type=Path, default=Path("benchmarks/results/latest.json"), help="where the figures go"
    )
    parser.add_argument("--scratch", type=Path, help="folder for the stores (default: a temporary one)")
    chosen = parser.parse_args(argv)
    chosen.pairs = chosen.pairs or (2 if chosen.quick else 10)
    chosen.seconds = chosen.seconds or (1.5 if chosen.quick else 4.0)
    chosen.messages = chosen.messages or (1_000 if chosen.quick else 10_000)
    return chosen


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def machine() -> dict[str, Any]:
    git = subprocess.run(["git", "--version"], capture_output=True, text=True, check=False)  # whatever serves
    return {
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "git": git.stdout.strip(),
        "fastmcp": version("fastmcp"),
        "uvicorn": version("uvicorn"),
    }


def conditions(chosen: argparse.Namespace, stand: Stand) -> dict[str, Any]:
    """Everything fixed, as it is printed."""
    return {
        "pairs": chosen.pairs,
        "seconds_per_phase": chosen.seconds,
        "mix_percent": mix.MIX,
        "clients": CLIENTS,
        "recipients_per_mixed_send": "1 (70 %), 2 (20 %), 3 (10 %)",
        "inbox": f"limit {mix.INBOX_LIMIT}, a third of the calls with bodies",
        "body_bytes": {"median": mix.MEDIAN_BODY_BYTES, "max": mix.MAX_BODY_BYTES, "shape": "log-normal"},
        "messages_before": chosen.messages,
        "agents": AGENTS,
        "burst": f"{SENDERS} senders to {RECIPIENTS} recipients each",
        "servers_on_cores": sorted(stand.servers_on),
        "client_archiver_and_git_on_cores": sorted(stand.others_on),
        "floor": "one-tool FastMCP; uvicorn, uvloop, httptools, stateful + JSON, gc frozen, telemetry off",
        "client": "raw keep-alive HTTP/1.1, one epoll loop, handshake-era sessions and /rpc",
        "load_average_before": round(os.getloadavg()[0], 2),
        "machine": machine(),
    }


def measure_starts(pairs: int, stand: Stand) -> list[dict[str, Any]]:
    """Alternate fresh starts of both, one at a time: time to the first answer, then memory at rest."""
    starts = []
    for number in range(pairs):
        record: dict[str, Any] = {}
        for name in ("floor", "ours") if number % 2 == 0 else ("ours", "floor"):
            with stand.beside(f"start of {name}"):
                if name == "floor":
                    server = stand.floor(McpSession())
                else:
                    server = stand.ours(stand.scratch / f"start-{number}", McpSession())
            time.sleep(SETTLE_S)
            record[f"{name}_s"] = round(server.first_answer_s, 3)
            record[f"{name}_pss_mib"] = [round(size, 1) for size in pss_mib(server.process.pid).values()]
            stand.stop(server)
        starts.append(record)
        say(f"start {number + 1}/{pairs}: {record}")
    return starts


def measure_pair(bench: Bench, number: int) -> Pair:
    """One round: every phase of ours next to its floor; odd rounds run in reverse order."""
    phases: list[tuple[str, Callable[[], Measured]]] = [
        ("floor_20", lambda: bench.floor(CLIENTS)),
        ("mixed", lambda: bench.mixed(number)),
        ("mixed_rpc", lambda: bench.mixed_rpc(number)),
        ("send_20", lambda: bench.sends(CLIENTS, 1, 40 + number)),
        ("floor_1", lambda: bench.floor(1)),
        ("send_1", lambda: bench.sends(1, 1, 80 + number)),
        ("floor_100", lambda: bench.floor(SENDERS)),
        ("send_100", lambda: bench.sends(SENDERS, RECIPIENTS, 120 + number)),
    ]
    pair: Pair = {}
    for name, phase in phases if number % 2 == 0 else reversed(phases):
        pair[name] = phase().as_json()
        say(f"  {name}: {pair[name]['per_second']}/s p50 {pair[name]['p50_ms']} p99 {pair[name]['p99_ms']} ms")
    return {name: pair[name] for name, _ in phases}


def measure_load(chosen: argparse.Namespace, stand: Stand) -> tuple[dict[str, float], list[Pair], Weight]:
    root = stand.scratch / "store"
    floor, ours = stand.floor(McpSession()), stand.ours(root, McpSession())
    wait_drained(ours)
    say(f"seeding {chosen.messages} messages")
    seeded = populate(ours, chosen.messages)
    bench = Bench(stand, floor, ours, root / "mail.sqlite3", chosen.seconds)
    pairs = []
    for number in range(chosen.pairs):
        say(f"pair {number + 1}/{chosen.pairs}")
        pairs.append(measure_pair(bench, number))
    return seeded, pairs, weigh(ours.process.pid, root)


def client_was_idle_enough(pairs: list[Pair]) -> bool:
    return all(phase["client_cpu"] < CLIENT_CPU_LIMIT for pair in pairs for phase in pair.values())


def main() -> int:
    """0, or an exit code of `benchmarks.report`, so that a script can tell."""
    chosen = parse(sys.argv[1:])
    scratch = chosen.scratch or Path(tempfile.mkdtemp(prefix="agent-mail-bench-"))
    scratch.mkdir(parents=True, exist_ok=True)
    try:
        with Stand(scratch) as stand:
            fixed = conditions(chosen, stand)
            starts = measure_starts(chosen.pairs, stand)
            seeded, pairs, after = measure_load(chosen, stand)
    finally:
        if chosen.scratch is None:
            shutil.rmtree(scratch, ignore_errors=True)
    targets = load_figures(pairs) + start_figures(starts)
    raw = [
        *raw_figures(pairs),
        Figure(name="memory of server and archiver after the load (PSS)", values=[after.lasting_pss_mib], unit="MiB"),
        Figure(name="and of the Git children running then (PSS)", values=[after.git_pss_mib], unit="MiB"),
    ]
    print("\n".join(f"{name}: {value}" for name, value in fixed.items()))
    print(f"seeding over /rpc: {seeded}\n")
    print(table("Raw figures (median of the pairs, range, spread against itself)", raw), end="\n\n")
    print(table("Targets (median of the pairs, range, spread against itself)", targets), end="\n\n")
    believable = client_was_idle_enough(pairs)
    print(f"client CPU below {CLIENT_CPU_LIMIT:.0%} of a core in every phase: {'yes' if believable else 'NO'}")
    code = publish(
        targets,
        stand.seen,
        chosen.json,
        conditions=fixed,
        seeding=seeded,
        raw=[figure.as_json() for figure in raw],
        pairs=pairs,
        starts=starts,
        client_believable=believable,
    )
    return code if believable else NO_EVIDENCE


if __name__ == "__main__":
    sys.exit(main())

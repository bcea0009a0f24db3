"""What watching and working beside the requests costs them: `python -m benchmarks.overhead`.

The CPU of the server per request of the mixed load, with a tool profile, the recording of calls and every worker
on, against the same with all of them off, in alternating pairs. See docs/reference/benchmarks.md.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.load import drive
from benchmarks.mix import MixedWork, Pool, agent_names
from benchmarks.processes import Server, cpu_s
from benchmarks.report import Figure, publish, table
from benchmarks.scenarios import CLIENTS, PROJECT, call, populate, wait_drained
from benchmarks.stand import Stand
from benchmarks.wire import McpSession, Refused, Rpc

TARGET = 1.05
LAUNCHER = "benchmarks.unwatched"

ON = {
    "TOOLS_FILTER_ENABLED": "true",
    "TOOLS_FILTER_PROFILE": "core",
    "TOOL_METRICS_EMIT_ENABLED": "true",
    "TOOL_METRICS_EMIT_INTERVAL_SECONDS": "5",
    "NOTIFICATIONS_ENABLED": "true",
    "FILE_RESERVATIONS_CLEANUP_ENABLED": "true",
    "FILE_RESERVATIONS_CLEANUP_INTERVAL_SECONDS": "5",
    "ACK_TTL_ENABLED": "true",
    "ACK_TTL_SCAN_INTERVAL_SECONDS": "5",
    "ACK_ESCALATION_ENABLED": "true",
    "RETENTION_REPORT_ENABLED": "true",
    "RETENTION_REPORT_INTERVAL_SECONDS": "60",
    "RETENTION_PURGE_ENABLED": "true",
    "QUOTA_ENABLED": "true",
    "QUOTA_INBOX_LIMIT_COUNT": "10000000",
}
"""Each at the shortest interval that its setting has, or near it."""

OFF = {
    "TOOLS_FILTER_ENABLED": "false",
    "TOOL_METRICS_EMIT_ENABLED": "false",
    "NOTIFICATIONS_ENABLED": "false",
    "FILE_RESERVATIONS_CLEANUP_ENABLED": "false",
    "FILE_RESERVATIONS_CLEANUP_INTERVAL_SECONDS": "3600",
    "ACK_TTL_ENABLED": "false",
    "RETENTION_REPORT_ENABLED": "false",
    "RETENTION_PURGE_ENABLED": "false",
    "QUOTA_ENABLED": "false",
}


def parse(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.overhead", description=__doc__)
    parser.add_argument("--pairs", type=int, default=12, help="alternating pairs")
    parser.add_argument("--seconds", type=float, default=4.0, help="measured time of each phase")
    parser.add_argument("--messages", type=int, default=5_000, help="stored before it begins")
    parser.add_argument("--over", choices=("mcp", "rpc"), default="mcp", help="which door the load uses")
    parser.add_argument(
        "--also", action="append", default=[], metavar="NAME=VALUE", help="a setting more of the server with all on"
    )
    parser.add_argument("--same", action="store_true", help="both servers off: how far the method itself strays")
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/overhead.json"))
    return parser.parse_args(argv)


def cpu_us_per_request(
    stand: Stand, server: Server, name: str, pool: Pool, seed: int, chosen: argparse.Namespace
) -> float:
    """Of the server's process alone: the archiver works for both alike."""
    names = agent_names(CLIENTS)
    dialect = McpSession if chosen.over == "mcp" else Rpc
    pairs = [(dialect(), MixedWork(PROJECT, agent, names, pool, 1_000 * seed + n)) for n, agent in enumerate(names)]
    wait_drained(server)
    with stand.phase(name, server):
        before = cpu_s(server.process.pid)
        sample = drive(server.port, pairs, chosen.seconds)
        used_s = cpu_s(server.process.pid) - before
    if sample.failures or not sample.counted:
        raise Refused(f"{sample.failures} calls failed: {sample.first_failure}")
    return 1e6 * used_s / sample.answered


def measure(stand: Stand, servers: dict[str, Server], chosen: argparse.Namespace) -> list[dict[str, float]]:
    """Both make the same calls in each pair; odd pairs run in reverse order."""
    pools = {name: Pool(seed=2) for name in servers}
    pairs = []
    for number in range(chosen.pairs):
        pair = {}
        for name in servers if number % 2 == 0 else reversed(list(servers)):
            pair[name] = cpu_us_per_request(stand, servers[name], name, pools[name], number, chosen)
        print(f"pair {number + 1}/{chosen.pairs}: {pair} {pair['on'] / pair['off']:.3f}", file=sys.stderr, flush=True)
        pairs.append(pair)
    return pairs


def start_both(stand: Stand, chosen: argparse.Namespace) -> dict[str, Server]:
    extra = dict(item.split("=", 1) for item in chosen.also)
    on_env = OFF if chosen.same else {**ON, **extra, "LOG_LEVEL": "INFO"}
    servers: dict[str, Server] = {}
    for name, env in (("on", on_env), ("off", OFF)):
        launcher = LAUNCHER if name == "off" or chosen.same else None
        servers[name] = stand.ours(stand.scratch / name, Rpc(), launcher=launcher, **env)
        populate(servers[name], chosen.messages)
    return servers


def workers_of(server: Server) -> Any:  # noqa: ANN401  # plain JSON
    """What health says of them, to be sure of what was on."""
    return call(server, "health_check").get("workers")


def main() -> int:
    chosen = parse(sys.argv[1:])
    with tempfile.TemporaryDirectory(prefix="agent-mail-overhead-") as scratch, Stand(Path(scratch)) as stand:
        servers = start_both(stand, chosen)
        pairs = measure(stand, servers, chosen)
        seen = {name: workers_of(server) for name, server in servers.items()}
    figures = [
        Figure(
            name="CPU of the server per request, everything on against off",
            values=[pair["on"] / pair["off"] for pair in pairs],
            target=TARGET,
        ),
        Figure(name="CPU of the server per request, on", values=[pair["on"] for pair in pairs], unit="us"),
        Figure(name="CPU of the server per request, off", values=[pair["off"] for pair in pairs], unit="us"),
    ]
    print(table(f"Mixed load over {chosen.over}, {CLIENTS} clients (median of {chosen.pairs} pairs, range)", figures))
    totals = statistics.fmean(pair["on"] for pair in pairs) / statistics.fmean(pair["off"] for pair in pairs)
    print(f"ratio of the means: {totals:.3f}")
    on = {**ON, "also": chosen.also}
    return publish(figures, stand.seen, chosen.json, pairs=pairs, workers=seen, on=on, same=chosen.same)


if __name__ == "__main__":
    sys.exit(main())

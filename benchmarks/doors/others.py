"""What open doors cost those who use none: CPU per request of the native mixed load, all doors on against off."""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.doors.servers import start_with_doors
from benchmarks.mix import Pool
from benchmarks.overhead import cpu_us_per_request
from benchmarks.processes import Server
from benchmarks.report import Figure
from benchmarks.scenarios import CLIENTS, populate
from benchmarks.stand import Stand
from benchmarks.wire import Rpc

TARGET = 1.02
ON, OFF = "on", "off"

Pair = dict[str, float]
"""On and off -> microseconds of CPU per request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """`is_same`: no doors on either side, which shows how far the method itself strays."""

    rounds: int
    pairs: int
    seconds: float
    messages: int
    is_same: bool


def run(stand: Stand, plan: Plan) -> list[Pair]:
    """In each round both servers are started anew, in the other order and with each other's store: of two equal ones
    neither the first to start nor the older store is to have the doors.
    """
    stores = [stand.scratch / "first", stand.scratch / "second"]
    for root in stores:
        server = stand.ours(root, Rpc())
        populate(server, plan.messages)
        stand.stop(server)
    pairs: list[Pair] = []
    for turn in range(plan.rounds):
        order = [ON, OFF] if turn % 2 == 0 else [OFF, ON]
        servers = {name: _start(stand, name, root, plan) for name, root in zip(order, stores, strict=True)}
        pairs += _round(stand, servers, turn, plan)
        for server in servers.values():
            stand.stop(server)
    return pairs


def _start(stand: Stand, name: str, root: Path, plan: Plan) -> Server:
    return start_with_doors(stand, root) if name == ON and not plan.is_same else stand.ours(root, Rpc())


def _round(stand: Stand, servers: dict[str, Server], turn: int, plan: Plan) -> list[Pair]:
    """Both make the same calls in each pair; odd pairs run in reverse order."""
    chosen = argparse.Namespace(over="mcp", seconds=plan.seconds)
    pools = {name: Pool(seed=2) for name in servers}
    pairs = []
    for number in range(plan.pairs):
        seed, pair = turn * plan.pairs + number, {}
        for name in servers if number % 2 == 0 else reversed(list(servers)):
            pair[name] = cpu_us_per_request(stand, servers[name], f"doors {name}", pools[name], seed, chosen)
        print(
            f"round {turn + 1}/{plan.rounds}, pair {number + 1}: {pair[ON] / pair[OFF]:.3f}",
            file=sys.stderr,
            flush=True,
        )
        pairs.append(pair)
    return pairs


def figures(pairs: Sequence[Pair]) -> list[Figure]:
    on, off = ([pair[name] for pair in pairs] for name in (ON, OFF))
    return [
        Figure(
            name=f"mixed load over MCP, {CLIENTS} clients: CPU per request, all doors on against off",
            values=[a / b for a, b in zip(on, off, strict=True)],
            target=TARGET,
        ),
        Figure(name="ratio of the means", values=[statistics.fmean(on) / statistics.fmean(off)]),
        Figure(name="CPU per request, all doors on", values=on, unit="us"),
        Figure(name="CPU per request, all doors off", values=off, unit="us"),
    ]

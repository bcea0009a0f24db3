"""What a version costs those who used the one before it: `python -m benchmarks.before --before REVISION`.

Both versions run side by side on stores of the same mail, in alternating pairs: sends, the mixed load, and reading an
inbox of a hundred items. See docs/reference/benchmarks.md.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.load import drive
from benchmarks.mix import Pool, agent_names
from benchmarks.processes import Server
from benchmarks.report import Figure, publish, table
from benchmarks.scenarios import CLIENTS, PROJECT, SENDERS, Pairs, call, mixed, populate, sends, wait_drained
from benchmarks.stand import Stand
from benchmarks.versions import Version, check_out_both
from benchmarks.wire import McpSession, Refused, Rpc

BEFORE = "f1528f4"
"""The last version without the delivery ladder: its inbox items have neither `age_s` nor `newer_from_sender`."""
RATE_TARGET = 0.97
READING_TARGET = 1.1
ITEMS = 100
READERS = 4
RECIPIENTS = 2

Rates = dict[str, dict[str, float]]
"""Of one pair: scenario -> version -> calls per second."""


class InboxReader:
    """One agent that reads the newest hundred of its inbox, again and again."""

    def __init__(self, me: str) -> None:
        self._arguments = {"project_key": PROJECT, "agent_name": me, "limit": ITEMS}

    def next(self) -> tuple[str, str, dict[str, Any]]:
        return "inbox", "fetch_inbox", self._arguments

    def answered(self, kind: str, body: bytes) -> None:
        """Nothing follows from an answer."""


def parse(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.before", description=__doc__)
    parser.add_argument("--before", default=BEFORE, metavar="REVISION", help="the version to compare with")
    parser.add_argument("--pairs", type=int, default=12, help="alternating pairs")
    parser.add_argument("--seconds", type=float, default=3.0, help="measured time per phase")
    parser.add_argument("--messages", type=int, default=10_000, help="stored before it begins")
    parser.add_argument("--same", action="store_true", help="the work tree against itself: how far the method strays")
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/before.json"))
    return parser.parse_args(argv)


def scenarios_of(number: int, pool: Pool) -> dict[str, Callable[[], Pairs]]:
    readers = agent_names(READERS)
    return {
        "send": lambda: sends(McpSession, SENDERS, RECIPIENTS, pool, seed=number),
        "mixed": lambda: mixed(McpSession, pool, seed=number),
        "inbox": lambda: [(Rpc(), InboxReader(name)) for name in readers],
    }


def measure(stand: Stand, versions: Sequence[Version], chosen: argparse.Namespace) -> list[Rates]:
    """Both get the same calls in each pair; odd pairs run in reverse order."""
    servers: dict[str, Server] = {}
    for version in versions:
        servers[version.name] = stand.ours(stand.scratch / version.name / "store", Rpc(), **version.environment)
        populate(servers[version.name], chosen.messages)
        _require_items(servers[version.name])
    pool = Pool(seed=2)
    pairs = []
    for number in range(chosen.pairs):
        order = list(servers) if number % 2 == 0 else list(reversed(servers))
        rates: Rates = {}
        for scenario, clients in scenarios_of(number, pool).items():
            rates[scenario] = {
                name: _rate(stand, servers[name], f"{scenario}, {name}", clients(), chosen.seconds) for name in order
            }
        print(f"pair {number + 1}: {rates}", file=sys.stderr, flush=True)
        pairs.append(rates)
    return pairs


def _require_items(server: Server) -> None:
    for name in agent_names(READERS):
        found = len(call(server, "fetch_inbox", project_key=PROJECT, agent_name=name, limit=ITEMS))
        if found < ITEMS:
            raise Refused(f"the inbox of {name} has {found} items: --messages is too small")


def _rate(stand: Stand, server: Server, name: str, pairs: Pairs, seconds: float) -> float:
    with stand.phase(name, server):
        sample = drive(server.port, pairs, seconds)
    wait_drained(server)
    if sample.failures or not sample.counted:
        raise Refused(f"{name}: {sample.failures} calls failed, {sample.counted} succeeded. {sample.first_failure}")
    return sample.per_second


def figures_of(pairs: Sequence[Rates]) -> list[Figure]:
    def shares(scenario: str) -> list[float]:
        return [pair[scenario]["now"] / pair[scenario]["before"] for pair in pairs]

    return [
        Figure(name=f"{SENDERS} senders, share of before", values=shares("send"), target=RATE_TARGET, at_least=True),
        Figure(
            name=f"mixed load, {CLIENTS} clients, share of before",
            values=shares("mixed"),
            target=RATE_TARGET,
            at_least=True,
        ),
        Figure(
            name=f"time to read {ITEMS} items, against before",
            values=[1 / share for share in shares("inbox")],
            target=READING_TARGET,
        ),
    ]


def main() -> int:
    chosen = parse(sys.argv[1:])
    with tempfile.TemporaryDirectory(prefix="agent-mail-before-") as scratch, Stand(Path(scratch)) as stand:
        versions = check_out_both(None if chosen.same else chosen.before, stand.scratch)
        pairs = measure(stand, versions, chosen)
    figures = figures_of(pairs)
    print(table(f"This version and the one before (median of {len(pairs)} pairs, range)", figures))
    commits = {version.name: version.commit for version in versions}
    return publish(figures, stand.seen, chosen.json, pairs=pairs, versions=commits)


if __name__ == "__main__":
    sys.exit(main())

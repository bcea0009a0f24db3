"""`python -m benchmarks.rest`: what memory a server keeps of a minute's load, once it has rested.

A new store is weighed two seconds after the first answer; then 20 clients make the mixed load over MCP for a minute and
leave, without ending their sessions. Nothing comes any more: what the server and the archiver weigh two minutes later,
by what they weighed after the start, is what the load has left behind.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.__main__ import SETTLE_S, machine, say
from benchmarks.load import drive
from benchmarks.mix import Pool
from benchmarks.processes import Server
from benchmarks.report import Figure, publish, table
from benchmarks.scenarios import CLIENTS, mixed, populate, wait_drained
from benchmarks.stand import Stand
from benchmarks.weights import Weight, weigh
from benchmarks.wire import McpSession, Refused

MAX_KEPT = 1.15
LOOKS = 4
"""Weighings while it rests, the last at the end: what is let go of, and when."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Weighed:
    """One server's round. `resting` are at equal distances."""

    calls: int
    started: Weight
    loaded: Weight
    resting: Sequence[Weight]

    @property
    def kept(self) -> float:
        """What is weighed at the end of the rest, by what was after the start."""
        return self.resting[-1].lasting_pss_mib / self.started.lasting_pss_mib


def parse(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rest", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="10 s of load and 50 s of rest: for development")
    parser.add_argument("--seconds", type=float, help="of load, default 60")
    parser.add_argument("--rest", type=float, help="seconds of rest, default 120")
    parser.add_argument("--messages", type=int, default=1_000, help="stored after the first weighing, default 1,000")
    parser.add_argument("--rounds", type=int, default=1, help="each on a server and a store of its own")
    parser.add_argument(
        "--also", action="append", default=[], metavar="NAME=VALUE", help="a variable more of the server's environment"
    )
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/rest.json"), help="where the figures go")
    chosen = parser.parse_args(argv)
    chosen.seconds = chosen.seconds or (10.0 if chosen.quick else 60.0)
    chosen.rest = chosen.rest or (50.0 if chosen.quick else 120.0)
    return chosen


def measure(stand: Stand, number: int, chosen: argparse.Namespace) -> Weighed:
    root = stand.scratch / f"store-{number}"
    server = stand.ours(root, McpSession(), **dict(item.split("=", 1) for item in chosen.also))
    time.sleep(SETTLE_S)
    started = _weigh(server, root, "after the start")
    populate(server, chosen.messages)
    sample = drive(server.port, mixed(McpSession, Pool(seed=3), number), chosen.seconds)
    if sample.failures or not sample.counted:
        raise Refused(f"{sample.failures} calls failed: {sample.first_failure}")
    wait_drained(server)
    loaded = _weigh(server, root, f"after {sample.answered:,} calls")
    resting = []
    for look in range(1, LOOKS + 1):
        time.sleep(chosen.rest / LOOKS)
        resting.append(_weigh(server, root, f"{chosen.rest * look / LOOKS:.0f} s later"))
    stand.stop(server)
    return Weighed(calls=sample.answered, started=started, loaded=loaded, resting=resting)


def _weigh(server: Server, root: Path, when: str) -> Weight:
    weight = weigh(server.process.pid, root)
    archiver_mib = weight.lasting_pss_mib - weight.server_pss_mib
    say(f"{when}: server {weight.server_pss_mib:.1f} MiB, archiver {archiver_mib:.1f}, Git {weight.git_pss_mib:.1f}")
    return weight


def figures(rounds: Sequence[Weighed]) -> list[Figure]:
    """The target, and beside it what is only reported."""
    ends = [one.resting[-1] for one in rounds]
    weighed = {
        "memory (PSS of server and archiver) after the start": [one.started for one in rounds],
        "after the load": [one.loaded for one in rounds],
        "after the rest": ends,
    }
    return [
        Figure(
            name="memory (PSS of server and archiver), after load and rest by after the start",
            values=[one.kept for one in rounds],
            target=MAX_KEPT,
        ),
        *(
            Figure(name=name, values=[weight.lasting_pss_mib for weight in weights], unit="MiB")
            for name, weights in weighed.items()
        ),
        Figure(
            name="of it what no file stands behind, after load and rest by after the start",
            values=[end.anonymous_mib / one.started.anonymous_mib for end, one in zip(ends, rounds, strict=True)],
        ),
        Figure(name="of the server alone, after the rest", values=[one.server_pss_mib for one in ends], unit="MiB"),
        Figure(name="calls of the load", values=[one.calls for one in rounds]),
    ]


def main() -> int:
    """0, or an exit code of `benchmarks.report`. Nothing is timed: others' work does not speak against it."""
    chosen = parse(sys.argv[1:])
    with tempfile.TemporaryDirectory(prefix="agent-mail-rest-") as scratch, Stand(Path(scratch)) as stand:
        rounds = [measure(stand, number, chosen) for number in range(chosen.rounds)]
    found = figures(rounds)
    print(table(f"{CLIENTS} clients for {chosen.seconds:.0f} s, then {chosen.rest:.0f} s of rest", found))
    return publish(
        found,
        stand.seen,
        chosen.json,
        conditions={
            "seconds": chosen.seconds,
            "rest_s": chosen.rest,
            "messages_before": chosen.messages,
            "also": chosen.also,
            "load_average": round(os.getloadavg()[0], 2),
            "machine": machine(),
        },
        rounds=[
            {
                "calls": one.calls,
                "started": one.started.as_json(),
                "loaded": one.loaded.as_json(),
                "resting": [weight.as_json() for weight in one.resting],
            }
            for one in rounds
        ],
    )


if __name__ == "__main__":
    sys.exit(main())

"""What others feel while one floods: `python -m benchmarks.flood`, see docs/reference/benchmarks.md.

A real server on this machine. Alone first: how much it answers at most, then agents that call a few times a second.
Then the same beside one whose token asks ten times what the server answers at most, idle and half-sent connections and
readers that take nearly nothing; and what is left of that once it is over.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.flood.others import Felt, Others, looked_at, percentile
from benchmarks.flood.pressers import Pressers, Pressure
from benchmarks.flood.requests import FLOODER, LIBRARY, fill
from benchmarks.pressure import rss_mib
from benchmarks.report import Figure, publish, table
from benchmarks.stand import Stand
from benchmarks.wire import Rpc
from mcp_agent_mail.server.operator_token import FILE_NAME

OTHERS = 40
EACH_PER_SECOND = 4.0
TOOLS_PER_MINUTE = 3_000
"""Each token's rate, far above what others call and far below the flood."""
TIMES_SUSTAINABLE = 10
GOODPUT_TARGET = 0.8
MEMORY_TARGET_MIB = 50.0
LIVENESS_TARGET_MS = 250.0
NORMAL_WITHIN_S = 2.0
_WINDOW_S = 0.5
_NORMAL_MS = 50.0
"""An answer within this, or three times what it takes alone, is normal."""
SETTINGS = {
    "HTTP_RATE_LIMIT_ENABLED": "true",
    "HTTP_RATE_LIMIT_TOOLS_PER_MINUTE": f"{TOOLS_PER_MINUTE}",
    "HTTP_RATE_LIMIT_PER_MINUTE": "100000",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How much presses, and for how long."""

    seconds: float = 60.0
    alone_s: float = 10.0
    after_s: float = 6.0
    flooding: int = 128
    idle: int = 2_000
    half: int = 500
    slow: int = 100


SHORT = Size(seconds=3.0, alone_s=1.0, after_s=2.0, flooding=16, idle=100, half=30, slow=5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What was seen: others alone, beside the flood and after it, and what those who pressed report."""

    sustainable: float
    alone: Felt
    beside: Felt
    after: Felt
    ended: float
    before_mib: float
    pressers: dict[str, Any]

    @property
    def goodput(self) -> float:
        return self.beside.per_second / self.alone.per_second

    def normal_after_s(self) -> float:
        """From the end of the flood to the end of the first half second that was as it is alone; infinite without."""
        slowest = max(_NORMAL_MS, 3 * percentile(self.alone.answers_ms(), 0.95))
        begin = self.ended
        while begin + _WINDOW_S <= self.ended + self.after.seconds:
            took = self.after.answers_ms(begin, begin + _WINDOW_S)
            as_many = len(took) >= GOODPUT_TARGET * self.alone.per_second * _WINDOW_S
            if as_many and percentile(took, 0.95) <= slowest:
                return begin + _WINDOW_S - self.ended
            begin += _WINDOW_S / 2
        return float("inf")


def run(stand: Stand, size: Size, **env: str) -> Run:
    """One flood at a server of its own."""
    root = stand.scratch / "flood"
    server = stand.ours(root, Rpc(), **{**SETTINGS, **env})
    port, pid = server.port, server.process.pid
    tokens = fill(port, OTHERS, (root / FILE_NAME).read_text().strip())
    own = {name: token for name, token in tokens.items() if name not in (FLOODER, LIBRARY)}
    most, alone, beside, after = Felt(), Felt(), Felt(), Felt()
    with closing(Others(port, own)) as others:
        others.call(most, size.alone_s / 2, each_per_second=None)
        with looked_at(port, pid, alone):
            others.call(alone, size.alone_s, each_per_second=EACH_PER_SECOND)
        before_mib = rss_mib(pid)
        pressure = Pressure(
            port=port,
            per_second=TIMES_SUSTAINABLE * most.per_second,
            flooding=size.flooding,
            idle=size.idle,
            half=size.half,
            slow=size.slow,
            seconds=size.seconds,
        )
        with Pressers(pressure, tokens) as pressers:
            pressers.begin()
            with looked_at(port, pid, beside):
                others.call(beside, size.seconds, each_per_second=EACH_PER_SECOND)
            report = pressers.report()
        ended = time.perf_counter()
        with looked_at(port, pid, after):
            others.call(after, size.after_s, each_per_second=EACH_PER_SECOND)
    stand.stop(server)
    return Run(
        sustainable=most.per_second,
        alone=alone,
        beside=beside,
        after=after,
        ended=ended,
        before_mib=before_mib,
        pressers=report,
    )


def figures(seen: Run) -> list[Figure]:
    """The targets, and what they are read beside."""
    alone, beside = seen.alone, seen.beside
    return [
        Figure(
            name="goodput of others, share of theirs alone",
            values=[seen.goodput],
            target=GOODPUT_TARGET,
            at_least=True,
        ),
        Figure(
            name="memory of the server beyond before",
            values=[beside.most_mib - seen.before_mib],
            unit="MiB",
            target=MEMORY_TARGET_MIB,
        ),
        Figure(
            name="liveness p99 meanwhile",
            values=[percentile(beside.liveness_ms, 0.99)],
            unit="ms",
            target=LIVENESS_TARGET_MS,
        ),
        Figure(name="back to normal after", values=[seen.normal_after_s()], unit="s", target=NORMAL_WITHIN_S),
        Figure(name="liveness that was not answered", values=[beside.unanswered + seen.after.unanswered], target=0),
        Figure(name="answers at most, alone", values=[seen.sustainable], unit="/s"),
        Figure(name="the flood: offered", values=[seen.pressers["offered"] / (seen.beside.seconds or 1)], unit="/s"),
        Figure(name="the flood: sent", values=[seen.pressers.get("sent", 0) / (beside.seconds or 1)], unit="/s"),
        Figure(name="others alone", values=[alone.per_second], unit="/s"),
        Figure(name="others beside the flood", values=[beside.per_second], unit="/s"),
        Figure(name="calls of others that failed", values=[alone.failures + beside.failures + seen.after.failures]),
        Figure(name="their p95 alone", values=[percentile(alone.answers_ms(), 0.95)], unit="ms"),
        Figure(name="their p95 beside the flood", values=[percentile(beside.answers_ms(), 0.95)], unit="ms"),
        Figure(name="liveness p99 alone", values=[percentile(alone.liveness_ms, 0.99)], unit="ms"),
    ]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.flood", description=__doc__)
    parser.add_argument("--short", action="store_true", help="three seconds and few connections, for development")
    parser.add_argument("--seconds", type=float, help="how long the flood lasts")
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/flood.json"))
    chosen = parser.parse_args(arguments)
    size = SHORT if chosen.short else Size()
    if chosen.seconds is not None:
        size = Size(**{**{name: getattr(size, name) for name in Size.__slots__}, "seconds": chosen.seconds})
    with tempfile.TemporaryDirectory() as scratch, Stand(Path(scratch)) as stand:
        seen = run(stand, size)
    sys.stdout.write("\n".join(f"{name}: {value}" for name, value in seen.pressers.items()) + "\n")
    if seen.beside.first_failure:
        sys.stdout.write(f"first failure of others: {seen.beside.first_failure}\n")
    told = figures(seen)
    sys.stdout.write(table("What others felt", told) + "\n")
    return publish(told, stand.seen, chosen.json)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

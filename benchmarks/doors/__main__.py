"""What doors cost: `python -m benchmarks.doors`, see docs/reference/benchmarks.md.

A letter by the door `postal` against one by this server's own tools; those who wait in `check_mail`; the command
`agentmail` beside `am --version`; and the mixed load of those who use no door, all doors on against off.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.doors import commands, letters, others, waiting
from benchmarks.report import Figure, publish, table
from benchmarks.stand import Stand

Part = Callable[[Stand, argparse.Namespace], tuple[list[Figure], Any]]
"""Its figures, and what it saw as JSON."""


def parse(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.doors", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few and short rounds, for development")
    parser.add_argument("--only", choices=sorted(PARTS), action="append", help="this part; may be repeated")
    parser.add_argument("--pairs", type=int, help="alternating pairs, or rounds, of each part (default 8, quick 2)")
    parser.add_argument("--messages", type=int, help="stored before it begins (default 5000, quick 500)")
    parser.add_argument("--waiters", type=int, default=500, help="how many wait (default 500)")
    parser.add_argument("--same", action="store_true", help="no doors on either side of the mixed load")
    parser.add_argument("--json", type=Path, default=Path("benchmarks/results/doors.json"))
    chosen = parser.parse_args(argv)
    for name, full, quick in (("pairs", 8, 2), ("messages", 5_000, 500)):
        if getattr(chosen, name) is None:
            setattr(chosen, name, quick if chosen.quick else full)
    return chosen


def _letters(stand: Stand, chosen: argparse.Namespace) -> tuple[list[Figure], Any]:
    each = {1: 40, 20: 10} if chosen.quick else {1: 200, 20: 50}
    plan = letters.Plan(pairs=chosen.pairs, each=each, messages=chosen.messages)
    pairs = letters.run(stand, plan)
    return letters.figures(pairs), [figure.as_json() for figure in letters.raw(pairs)]


def _waiting(stand: Stand, chosen: argparse.Namespace) -> tuple[list[Figure], Any]:
    idle_s, wakes = (3.0, 10) if chosen.quick else (15.0, 60)
    plan = waiting.Plan(waiters=chosen.waiters, rounds=chosen.pairs, idle_s=idle_s, wakes=wakes)
    seen = waiting.run(stand, plan)
    return waiting.figures(seen, chosen.waiters), seen.as_json()


def _commands(stand: Stand, chosen: argparse.Namespace) -> tuple[list[Figure], Any]:
    plan = commands.Plan(rounds=chosen.pairs, turns=2 if chosen.quick else 8)
    found = commands.run(stand, plan)
    return commands.figures(found), found


def _others(stand: Stand, chosen: argparse.Namespace) -> tuple[list[Figure], Any]:
    """Twice as many pairs as the rest: its bound is the narrowest."""
    plan = others.Plan(
        rounds=2 if chosen.quick else 4,
        pairs=max(1, chosen.pairs // 2),
        seconds=1.5 if chosen.quick else 4.0,
        messages=chosen.messages,
        is_same=chosen.same,
    )
    pairs = others.run(stand, plan)
    return others.figures(pairs), pairs


PARTS: dict[str, Part] = {"letters": _letters, "waiting": _waiting, "commands": _commands, "others": _others}


def main() -> int:
    chosen = parse(sys.argv[1:])
    shown: list[Figure] = []
    details: dict[str, Any] = {}
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="agent-mail-doors-") as scratch, Stand(Path(scratch).resolve()) as stand:
        for name in chosen.only or PARTS:
            found, details[name] = PARTS[name](stand, chosen)
            print(table(f"Doors: {name} (median of the pairs, range, spread against itself)", found), flush=True)
            shown += found
    minutes = (time.monotonic() - began) / 60
    print(f"took {minutes:.1f} minutes")
    return publish(shown, stand.seen, chosen.json, minutes=round(minutes, 1), details=details)


if __name__ == "__main__":
    sys.exit(main())

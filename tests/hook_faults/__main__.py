"""Rounds of hooks that die, run twice at once, and lose their server: `python -m tests.hook_faults`.

Prints what was tried and what was found, and ends with 1 where a message was told twice in a session, handed over
without a print, or neither told nor counted.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.hook_faults.rounds import Rounds


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.hook_faults", description=__doc__.partition(":")[0])
    parser.add_argument("--rounds", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rounds = Rounds(Path(folder), given.seed)
        rounds.play(given.rounds)
    for what, number in sorted(rounds.done.items()):
        sys.stdout.write(f"{number:6} {what}\n")
    sys.stdout.write(f"{rounds.handed:6} copies handed over\n")
    sys.stdout.write(f"{len(rounds.faults):6} faults of {given.rounds} rounds\n")
    for fault in rounds.faults:
        sys.stdout.write(f"  {fault}\n")
    return 1 if rounds.faults else 0


if __name__ == "__main__":
    sys.exit(main())

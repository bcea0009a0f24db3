"""Imports of a large store with everything that bites, and imports that are killed: `python -m tests.imports`.

Prints what was tried, how long it took and what was found, and ends with 1 where anything is missing, there twice, or
was changed in the source.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.imports.rounds import KillRounds
from tests.imports.whole_import import WholeImport


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.imports", description=__doc__.partition(":")[0])
    parser.add_argument("--messages", type=int, default=10_000)
    parser.add_argument("--kills", type=int, default=60)
    parser.add_argument("--killed-messages", type=int, default=8_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        whole = WholeImport(Path(folder), messages=given.messages, seed=given.seed)
        whole.play()
    for figure in whole.figures:
        sys.stdout.write(f"{figure}\n")
    with tempfile.TemporaryDirectory() as folder:
        rounds = KillRounds(Path(folder), given.seed, messages=given.killed_messages)
        rounds.play(given.kills)
    for what, number in sorted(rounds.done.items()):
        sys.stdout.write(f"{number:6} {what}\n")
    faults = [*whole.faults, *rounds.faults]
    sys.stdout.write(f"{len(faults):6} faults\n")
    for fault in faults:
        sys.stdout.write(f"  {fault}\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())

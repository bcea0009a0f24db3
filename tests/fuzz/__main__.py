"""A million inputs that nobody sends on purpose: `python -m tests.fuzz`.

Prints the seed, how many inputs each target got and the longest that one took, and ends with 1 where one was answered
with a 5xx (but 503), raised what is no refusal, or took over a second. A fault says with which arguments it is made
again.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import secrets
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from tests.fuzz.pure import Found, read_inputs, shares
from tests.fuzz.sockets import send_inputs
from tests.fuzz.targets import TARGETS

_CHUNK = 5_000
_KINDS = 5
"""Of what is sent over sockets."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description="Inputs that nobody sends on purpose.")
    parser.add_argument("--inputs", type=int, default=1_000_000, help="of all targets together, at least")
    parser.add_argument("--sent", type=int, default=6_000, help="of each kind that goes over a socket")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(10**9))
    parser.add_argument("--target", help="this one alone")
    parser.add_argument("--number", type=int, help="this input of it alone")
    given = parser.parse_args()
    sys.stdout.write(f"seed {given.seed}\n")
    sys.stdout.flush()
    started, found = time.monotonic(), Found()
    if given.target is None:
        _read_all(given.seed, given.inputs - _KINDS * given.sent, found)
        _tell("sent to a server over sockets", _sent(given.seed, given.sent), found)
    elif given.target in TARGETS:
        numbers = range(shares(given.inputs)[given.target]) if given.number is None else [given.number]
        _tell(given.target, read_inputs(given.target, given.seed, numbers), found)
    else:
        inputs = given.sent if given.number is None else 1
        _tell(given.target, _sent(given.seed, inputs, only=given.target, at=given.number or 0), found)
    took_s = time.monotonic() - started
    sys.stdout.write(f"{found.inputs:,} inputs in {took_s:.0f} s, {len(found.faults)} faults\n")
    for fault in found.faults:
        sys.stdout.write(f"  {fault}\n")
    return 1 if found.faults else 0


def _read_all(seed: int, inputs: int, found: Found) -> None:
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        reading = {
            name: [
                pool.submit(read_inputs, name, seed, range(begin, min(begin + _CHUNK, share)))
                for begin in range(0, share, _CHUNK)
            ]
            for name, share in shares(inputs).items()
        }
        for name, parts in reading.items():
            whole = Found()
            for part in parts:
                whole.add(part.result())
            _tell(name, whole, found)


def _sent(seed: int, inputs: int, *, only: str | None = None, at: int = 0) -> Found:
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(send_inputs(Path(folder).resolve(), seed, inputs, only=only, at=at))


def _tell(name: str, its: Found, found: Found) -> None:
    sys.stdout.write(f"{its.inputs:9,} {name}: {its.slowest_s:.3f} s at most, {len(its.faults)} faults\n")
    sys.stdout.flush()
    found.add(its)


if __name__ == "__main__":
    sys.exit(main())

"""Inputs read in this process, one after the other, each with the CPU time that it may take."""

from __future__ import annotations

import time
import traceback
from collections.abc import Iterable
from dataclasses import dataclass, field

from tests.fuzz.making import Maker
from tests.fuzz.targets import TARGETS

MOST_S = 1.0
"""Of CPU time: that of a busy machine would say nothing."""
MOST_FAULTS = 20


@dataclass(slots=True)
class Found:
    """`slowest` is what one input took at most, in seconds; each fault says how it is made again."""

    inputs: int = 0
    slowest_s: float = 0.0
    faults: list[str] = field(default_factory=list)

    def add(self, other: Found) -> None:
        self.inputs += other.inputs
        self.slowest_s = max(self.slowest_s, other.slowest_s)
        self.faults += other.faults


def read_inputs(name: str, seed: int, numbers: Iterable[int]) -> Found:
    """The inputs of these numbers, for one target."""
    target, found = TARGETS[name], Found()
    for number in numbers:
        given = target.make(Maker(f"{seed}/{name}/{number}"))
        again = f"--seed {seed} --target {name!r} --number {number}"
        started = time.process_time()
        try:
            target.read(given)
        except target.refusals:
            pass
        except Exception:  # noqa: BLE001  # whatever it is, it would have been a 500
            found.faults.append(f"{again}: {given!r:.500}\n{traceback.format_exc(limit=-3)}")
        took_s = time.process_time() - started
        found.inputs += 1
        found.slowest_s = max(found.slowest_s, took_s)
        if took_s > MOST_S:
            found.faults.append(f"{again}: {took_s:.1f} s for {given!r:.500}")
        if len(found.faults) >= MOST_FAULTS:
            break
    return found


def shares(inputs: int) -> dict[str, int]:
    """How many inputs each target gets of so many, or a few more."""
    whole = sum(target.share for target in TARGETS.values())
    return {name: -(-inputs * target.share // whole) for name, target in TARGETS.items()}

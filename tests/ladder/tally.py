"""What histories did, counted: so that a ladder that climbs nothing is seen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

Record = Callable[[str, object], None]
LADDER = "ladder"
"""Under which a test records what its histories did: pairs of words and numbers."""


@dataclass(slots=True)
class Tally:
    """`reached` are the last statuses of copies; `cut_at` the bytes at which answers with mail in them were cut."""

    done: Counter[str] = field(default_factory=Counter)
    reached: Counter[str] = field(default_factory=Counter)
    cut_at: set[int] = field(default_factory=set)

    def tell(self, record: Record) -> None:
        """For the summary at the end of all tests: text, since that is what goes from one process to another."""
        numbers = {**self.done, **{f"ended {status}": number for status, number in self.reached.items()}}
        record(LADDER, "; ".join(f"{what}={number}" for what, number in sorted(numbers.items())))

    def __str__(self) -> str:
        return "; ".join(f"{what} {number}" for what, number in sorted((self.done + self.reached).items()))


def summed(told: list[str]) -> str:
    """Of what several tests have recorded."""
    total: Counter[str] = Counter()
    for one in told:
        for pair in one.split("; "):
            what, _, number = pair.rpartition("=")
            total[what] += int(number)
    return "; ".join(f"{what} {number}" for what, number in sorted(total.items()))

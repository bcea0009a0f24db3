"""What histories did, counted: so that a ladder that climbs nothing is seen."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass(slots=True)
class Tally:
    """`cut_at` are the bytes at which answers with mail in them were cut."""

    done: Counter[str] = field(default_factory=Counter)
    reached: Counter[str] = field(default_factory=Counter)
    cut_at: set[int] = field(default_factory=set)

    def add(self, other: Tally) -> None:
        self.done += other.done
        self.reached += other.reached
        self.cut_at |= other.cut_at

    def __str__(self) -> str:
        listed = ", ".join(f"{what} {number}" for what, number in sorted(self.done.items()))
        reached = ", ".join(f"{status} {number}" for status, number in sorted(self.reached.items()))
        return f"{listed}; cut at {len(self.cut_at)} different bytes; copies ended as: {reached}"

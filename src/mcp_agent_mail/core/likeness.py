"""Which known name was probably meant: for hints only, nothing is ever matched by likeness.

What it may cost is counted: some names take thousands of times as long to compare as others of their length do.
"""

from __future__ import annotations

import difflib
import heapq
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

COMPARED = 100
"""So many characters of a name are looked at and repeated: comparing four million stopped the server for a second."""

MAX_STEPS = 150_000
"""Of comparing, for all hints of a call. A step costs at most 0.3 microseconds of CPU; to look for a name of a dozen
letters among three hundred such names takes 10,000.
"""
_DEAR = 500
"""Steps of one comparison."""
_ALIKE = 0.6
_STEPS_PER_NAME = 10


class HintBudget:
    """The steps that comparing may take. A third of them is kept for what is cheap to compare, so that names which are
    dear keep no other from being found.
    """

    __slots__ = ("bound", "spent")

    def __init__(self, bound: int = MAX_STEPS) -> None:
        self.bound = bound
        self.spent = 0

    def spend(self, steps: int) -> bool:
        """Count so many steps; False, and none are counted, where so many are not left."""
        bound = self.bound if steps <= _DEAR else self.bound * 2 // 3
        if self.spent + steps > bound:
            return False
        self.spent += steps
        return True


_of_call: ContextVar[HintBudget | None] = ContextVar("hint_budget", default=None)


@contextmanager
def one_hint_budget() -> Iterator[HintBudget]:
    """Inside, all comparing shares one budget, however many hints are made: that of the block around, if there is one.
    Outside, every name that is looked for has one of its own.
    """
    around = _of_call.get()
    if around is not None:
        yield around
        return
    budget = HintBudget()
    reset = _of_call.set(budget)
    try:
        yield budget
    finally:
        _of_call.reset(reset)


def most_like(
    wanted: str, known: Iterable[str], *, limit: int = 3, compared: int = COMPARED, budget: HintBudget | None = None
) -> list[str]:
    """At most `limit` of the known names, best first. Once the budget is spent the rest of them are not looked at."""
    comparison = _Comparison(wanted[:compared], budget)
    found = []
    for name in known:
        if not comparison.may_go_on():
            break
        if ratio := comparison.likeness(name):
            found.append((ratio, name))
    return [name for _, name in heapq.nlargest(limit, found)]


def likeness(wanted: str, known: str) -> float:
    """How alike two names are spelt, from 0 to 1; what `most_like` would not take for the same is 0."""
    comparison = _Comparison(wanted[:COMPARED], None)
    return comparison.likeness(known) if comparison.may_go_on() else 0.0


class _Comparison:
    """Of one name with others."""

    def __init__(self, wanted: str, budget: HintBudget | None) -> None:
        self._budget = budget or _of_call.get() or HintBudget()
        self._length = len(wanted)
        self._letters = Counter(wanted)
        self._matcher = difflib.SequenceMatcher(None, "", wanted)

    def may_go_on(self) -> bool:
        return self._budget.spend(_STEPS_PER_NAME)

    def likeness(self, name: str) -> float:
        shorter, both = min(self._length, len(name)), self._length + len(name)
        if not both or 2 * shorter / both < _ALIKE or not self._budget.spend(len(name) // 4):
            return 0.0
        shared, pairs = 0, 0
        for letter, count in Counter(name).items():
            other = self._letters[letter]
            shared += min(count, other)
            pairs += count * other
        # Every pair of equal letters is looked at once for each stretch that both have; of those there may be many.
        if 2 * shared / both < _ALIKE or not self._budget.spend(pairs * (16 + shorter) // 16):
            return 0.0
        self._matcher.set_seq1(name)
        ratio = self._matcher.ratio()
        return ratio if ratio >= _ALIKE else 0.0

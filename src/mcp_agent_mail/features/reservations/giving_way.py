"""Threads that compute give way to the others.

Python runs one thread at a time and takes turns every 5 ms. A write asks for its turn a dozen times, so
beside a thread that computes without a pause it takes 60 ms. Whatever computes for longer rests in between.
"""

from __future__ import annotations

import time

from mcp_agent_mail.domain.patterns.pattern import Work

STEPS_BETWEEN_RESTS = 2_000
_REST_S = 0.000_5


def rest() -> None:
    """After each half millisecond or so, on a thread that nobody else waits for."""
    time.sleep(_REST_S)


class RestingWork(Work):
    """Comparisons that rest every now and then."""

    __slots__ = ("_next_rest",)

    def __init__(self, bound: int) -> None:
        super().__init__(bound)
        self._next_rest = STEPS_BETWEEN_RESTS

    def spend(self, steps: int) -> None:
        super().spend(steps)
        if self.spent >= self._next_rest:
            self._next_rest = self.spent + STEPS_BETWEEN_RESTS
            rest()

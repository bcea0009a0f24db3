"""A clock of rates that a test moves."""

from __future__ import annotations


class StandingClock:
    """Monotonic seconds; stands until it is moved."""

    def __init__(self) -> None:
        self.now_s = 1_000.0

    def __call__(self) -> float:
        return self.now_s

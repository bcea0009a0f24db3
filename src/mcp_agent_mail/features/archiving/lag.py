"""How far the archive runs behind: from the moment an event happened to the moment its commit was marked."""

from __future__ import annotations

from collections import deque

from mcp_agent_mail.core.clock import SECOND, Micros

_SAMPLES = 1_024


class LagSamples:
    """The oldest event of each of the last commits, so every figure is a worst case of its batch."""

    def __init__(self) -> None:
        self._seconds: deque[float] = deque(maxlen=_SAMPLES)

    def add(self, happened: Micros, marked: Micros) -> None:
        self._seconds.append(max(0.0, (marked - happened) / SECOND))

    def percentile(self, share: float) -> float | None:
        """The lag that `share` of the commits stayed within; None before the first."""
        if not self._seconds:
            return None
        ordered = sorted(self._seconds)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]

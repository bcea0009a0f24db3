"""Backpressure: senders are kept at the archive's pace when a burst overruns it, so that the backlog has a bound; and
the samples of lag by which it is seen.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress

from mcp_agent_mail.core.clock import SECOND, Micros

FAR_BEHIND_EVENTS = 5_000
WAIT_AT_MOST_S = 0.25


class Backpressure:
    """While more than `far_behind` events wait for Git, each send first waits until fewer do, or `wait_at_most_s`.

    So a burst is let in at full speed, and what goes on beyond it comes in at no more than four sends a
    second and sender. A send is never refused for it, and while an archive fails nobody waits:
    then the backlog is on disk, shows in health, and is worked off when the archive can be written again.
    """

    def __init__(self, *, far_behind: int = FAR_BEHIND_EVENTS, wait_at_most_s: float = WAIT_AT_MOST_S) -> None:
        self._far_behind = far_behind
        self._wait_at_most_s = wait_at_most_s
        self._near = asyncio.Event()
        self._near.set()

    def note(self, pending_events: int, *, is_failing: bool) -> None:
        """What the archives are behind just now; told after every commit and every failure."""
        if is_failing or pending_events <= self._far_behind:
            self._near.set()
        else:
            self._near.clear()

    async def keep(self) -> None:
        """Wait if the archives are far behind; costs nothing otherwise."""
        await self.keep_longer(self._wait_at_most_s)

    async def keep_longer(self, within_s: float) -> None:
        """Likewise, for so long: who brings in a whole store is in no hurry, and would fill the backlog else."""
        if self._near.is_set():
            return
        with suppress(TimeoutError):
            await asyncio.wait_for(self._near.wait(), within_s)


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

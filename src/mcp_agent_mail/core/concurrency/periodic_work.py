"""A task beside the requests that does one thing again and again, and says where health is read how it went."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from mcp_agent_mail.core.concurrency.keeper import Keeper


class Periodic(Keeper):
    """One pass comes at once, the next ones after each interval; after a failure sooner, with a growing pause.

    `work` looks at `is_stopping` between its steps.
    """

    def __init__(self, name: str, work: Callable[[], Awaitable[None]], *, interval_s: float) -> None:
        super().__init__(name, self._at_intervals)
        self._pass = work
        self._interval_s = interval_s

    async def _at_intervals(self) -> None:
        while not self.is_stopping:
            await self._pass()
            self.worked()
            await self.rest(self._interval_s)

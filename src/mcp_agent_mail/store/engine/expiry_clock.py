"""When the next unread copy expires, as far as is known without a look: so that nobody who reads pays for one."""

from __future__ import annotations

from mcp_agent_mail.core.clock import Clock, Micros


class ExpiryClock:
    """The writer's thread notes times, the event loop asks: each is one assignment or one comparison."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._next: Micros | None = None

    def note(self, at: Micros) -> None:
        """A copy that expires at `at` may have been stored. One that was not after all costs one look in vain."""
        if self._next is None or at < self._next:
            self._next = at

    def reset(self, at: Micros | None) -> None:
        """After a look that is on disk: nothing expires before `at`, or ever."""
        self._next = at

    @property
    def is_due(self) -> bool:
        at = self._next  # Once: the writer's thread may set it in between.
        return at is not None and at <= self._clock()

"""When what failed is tried again: after a growing pause, whatever happens to the wall clock meanwhile."""

from __future__ import annotations

from dataclasses import dataclass

from mcp_agent_mail.core.clock import SECOND, Micros

FIRST = SECOND
LAST = 60 * SECOND
_MOST_COUNTED = 10


@dataclass(slots=True)
class Retry:
    """One thing that may fail. `due`: not before this time, which moves with a clock that is set back."""

    due: Micros = Micros(0)  # noqa: RUF009  # a NewType is its argument
    failures: int = 0
    _seen: Micros = Micros(0)  # noqa: RUF009  # likewise

    def wait(self, now: Micros) -> Micros:
        """How long until it is due. A clock that was set back, by hours or seconds, makes it no longer."""
        if now < self._seen:
            self.due = Micros(self.due - (self._seen - now))
        self._seen = now
        if self.due > now + LAST:
            self.due = now
        return Micros(max(0, self.due - now))

    def fail(self, now: Micros) -> None:
        self._seen = now
        self.due = Micros(now + min(FIRST * 2**self.failures, LAST))
        self.failures = min(self.failures + 1, _MOST_COUNTED)

    def succeed(self) -> bool:
        """True when it had failed before."""
        had_failed, self.failures = self.failures > 0, 0
        return had_failed

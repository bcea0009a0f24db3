"""How many requests begin in one round of the event loop.

Each that begins runs at once as far as it need not wait, a read to its end. Were all that came to begin in the same
round, a hundred connections that ask without a pause would make rounds of a hundred calls: whatever needs several of
them, a new connection or a probe, would wait for as many.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from contextvars import copy_context

AT_ONCE = 16


class RequestStarts:
    """For one event loop; in the order in which they came."""

    def __init__(self, at_once: int = AT_ONCE) -> None:
        self._at_once = at_once
        self._left = at_once
        self._waiting: deque[Callable[[], None]] = deque()
        self._is_next_round_due = False
        self._context = copy_context()
        """Of nobody's request: what begins later must not find what another one has set."""

    def begin(self, start: Callable[[], None]) -> None:
        """Call `start` now, or in one of the next rounds where as many have begun in this one."""
        if not self._left or self._waiting:
            self._waiting.append(start)
            return
        self._start(start)

    def _start(self, start: Callable[[], None]) -> None:
        self._left -= 1
        if not self._is_next_round_due:
            self._is_next_round_due = True
            asyncio.get_running_loop().call_soon(self._next_round, context=self._context)
        start()

    def _next_round(self) -> None:
        self._is_next_round_due = False
        self._left = self._at_once
        while self._waiting and self._left:
            self._start(self._waiting.popleft())

"""A pace for work that comes in many small steps: so many in one pass of the event loop, of all who work together."""

from __future__ import annotations

import asyncio
from collections import deque


class Pace:
    """Whoever has more steps to do than one asks for each, and comes after all who asked before: who has a thousand
    waits for itself, and whatever else the loop has to do comes in between.
    """

    def __init__(self, steps_a_pass: int) -> None:
        self._steps = steps_a_pass
        self._left = steps_a_pass
        self._is_counting = False
        self._line: deque[asyncio.Future[None]] = deque()

    async def step(self) -> None:
        """Return when the step may be done: at once, or in a later pass of the loop."""
        loop = asyncio.get_running_loop()
        if not self._is_counting:
            self._is_counting = True
            loop.call_soon(self._next_pass, loop)
        if self._left and not self._line:
            self._left -= 1
            return
        turn = loop.create_future()
        self._line.append(turn)
        await turn

    def _next_pass(self, loop: asyncio.AbstractEventLoop) -> None:
        self._left = self._steps
        while self._left and self._line:
            turn = self._line.popleft()
            if not turn.done():  # Else whoever waited was cancelled.
                turn.set_result(None)
                self._left -= 1
        self._is_counting = bool(self._line) or self._left < self._steps
        if self._is_counting:
            loop.call_soon(self._next_pass, loop)

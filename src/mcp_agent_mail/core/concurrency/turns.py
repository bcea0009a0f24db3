"""Turns at something scarce, shared between callers: each has its own line, and the lines are served in rotation.

So who asks a thousand times waits for itself, and who asks once waits for what runs, not for what waits.
"""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from mcp_agent_mail.core.errors import Busy
from mcp_agent_mail.core.lazy.dataclass import dataclass


class TooMuchAtOnce(Busy):
    """The caller's line, or all lines together, are full; or the wait took too long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnBounds:
    """`places` are in use at a time, at most `places_each` by one caller. At most `waiting` calls wait, `waiting_each`
    of one caller, for `within_s` seconds.
    """

    places: int
    places_each: int
    waiting_each: int
    waiting: int
    within_s: float


class Turns:
    """Turns at `what`, as a refusal names it. For one event loop."""

    def __init__(self, what: str, bounds: TurnBounds) -> None:
        self._what = what
        self._bounds = bounds
        self._running: Counter[str] = Counter()
        self._lines: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()

    @asynccontextmanager
    async def turn(self, caller: str) -> AsyncIterator[None]:
        """Wait for a place and keep it until the end. Raises TooMuchAtOnce."""
        if not self._lines and self._has_place(caller):
            self._running[caller] += 1
        else:
            await self._wait(caller)
        try:
            yield
        finally:
            self._leave(caller)

    def _has_place(self, caller: str) -> bool:
        return self._running.total() < self._bounds.places and self._running[caller] < self._bounds.places_each

    async def _wait(self, caller: str) -> None:
        line = self._lines.get(caller, ())
        if len(line) >= self._bounds.waiting_each or sum(map(len, self._lines.values())) >= self._bounds.waiting:
            raise self._too_much()
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._lines.setdefault(caller, deque()).append(turn)
        self._serve()
        try:
            async with asyncio.timeout(self._bounds.within_s):
                await turn
        except BaseException as ended:
            if turn.done() and not turn.cancelled():  # The place was given while we gave up.
                self._leave(caller)
            else:
                self._forget(caller, turn)
            if isinstance(ended, TimeoutError):
                raise self._too_much() from None
            raise

    def _leave(self, caller: str) -> None:
        self._running[caller] -= 1
        if not self._running[caller]:
            del self._running[caller]
        self._serve()

    def _serve(self) -> None:
        """Give what is free, a place to each line in rotation."""
        while (caller := next((caller for caller in self._lines if self._has_place(caller)), None)) is not None:
            turn = self._lines[caller].popleft()
            self._lines.move_to_end(caller)
            if not self._lines[caller]:
                del self._lines[caller]
            if not turn.done():
                self._running[caller] += 1
                turn.set_result(None)

    def _forget(self, caller: str, turn: asyncio.Future[None]) -> None:
        line = self._lines.get(caller)
        if line is not None and turn in line:
            line.remove(turn)
            if not line:
                del self._lines[caller]

    def _too_much(self) -> TooMuchAtOnce:
        return TooMuchAtOnce(f"Too many {self._what} are running or waiting.")

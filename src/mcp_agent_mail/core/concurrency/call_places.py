"""How many calls may be at work at once, over MCP, `/rpc`, REST and doors together.

A call that waits, for mail or for leases, has a place among those who wait instead, which have bounds of their own. It
never asks for another: what it waited for is there now, and thousands may be woken at once by one message.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Any, TypeVar

from mcp_agent_mail.core.concurrency.work_place import working_at
from mcp_agent_mail.core.errors import Busy
from mcp_agent_mail.core.lazy.dataclass import dataclass

logger = logging.getLogger("mcp_agent_mail.server")

T = TypeVar("T")

MAX_CALLS = 256
"""Unless HTTP_MAX_CALLS says otherwise."""
OPERATORS_PLACES = 8
"""Beside the others', for who comes with the operator's own token: who turns a flooder away, and looks what is going
on, does not stand in its line, whatever role the flooder's token has.
"""
_RETRY_AFTER_S = 1
_SAID_EVERY_S = 60.0


class TooManyCalls(Busy):
    """As many calls are at work as may be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceFigures:
    """`at_work` just now, `most` at once and `refused` since the start."""

    at_work: int
    most: int
    refused: int
    limit: int


class CallPlaces:
    """For one event loop. That they are taken is one line in the log, and then one a minute with how often."""

    def __init__(self, limit: int = MAX_CALLS, *, now: Callable[[], float] = monotonic) -> None:
        self._limit = limit
        self._now = now
        self._said_at: float | None = None
        self._unsaid = 0
        self._at_work: set[object] = set()
        self._most = 0
        self._refused = 0

    async def run(self, call: Coroutine[Any, Any, T], *, is_operators: bool = False) -> T:  # Any: what it is sent
        """Run `call` in a place of its own. Raises TooManyCalls, and then nothing of it was begun."""
        try:
            with self.at_work(is_operators=is_operators):
                return await call
        except TooManyCalls:
            call.close()
            raise

    @contextmanager
    def at_work(self, *, is_operators: bool = False) -> Iterator[None]:
        """A place for the time of the block, or until `give_up_place`. Raises TooManyCalls."""
        if len(self._at_work) >= self._limit + OPERATORS_PLACES * is_operators:
            self._note()
            raise TooManyCalls(
                f"{self._limit} calls are at work already; nothing was done.",
                retry_after_s=_RETRY_AFTER_S,
                data={"at_work": len(self._at_work), "limit": self._limit},
            )
        place = object()
        self._at_work.add(place)
        self._most = max(self._most, len(self._at_work))
        try:
            with working_at(lambda: self._at_work.discard(place)):
                yield
        finally:
            self._at_work.discard(place)

    def _note(self) -> None:
        self._refused += 1
        self._unsaid += 1
        now = self._now()
        if self._said_at is None or now >= self._said_at + _SAID_EVERY_S:
            self._said_at = now
            facts = {"times": self._unsaid, "at_work": len(self._at_work)}
            logger.warning("calls were turned away: HTTP_MAX_CALLS are at work", extra={"facts": facts})
            self._unsaid = 0

    def figures(self) -> PlaceFigures:
        """For the metrics."""
        return PlaceFigures(at_work=len(self._at_work), most=self._most, refused=self._refused, limit=self._limit)

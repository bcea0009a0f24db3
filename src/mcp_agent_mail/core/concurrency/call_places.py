"""How many calls may be at work at once, over MCP, `/rpc`, REST and doors together.

A call that waits, for mail or for leases, has a place among those who wait instead, which have bounds of their own. It
never asks for another: what it waited for is there now, and thousands may be woken at once by one message.
"""

from __future__ import annotations

from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from mcp_agent_mail.core.concurrency.work_place import working_at
from mcp_agent_mail.core.errors import Busy

T = TypeVar("T")

MAX_CALLS = 256
"""Unless HTTP_MAX_CALLS says otherwise."""
_RETRY_AFTER_S = 1


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
    """For one event loop."""

    def __init__(self, limit: int = MAX_CALLS) -> None:
        self._limit = limit
        self._at_work: set[object] = set()
        self._most = 0
        self._refused = 0

    async def run(self, call: Coroutine[Any, Any, T]) -> T:  # Any: what a coroutine is sent and yields
        """Run `call` in a place of its own. Raises TooManyCalls, and then nothing of it was begun."""
        try:
            with self.at_work():
                return await call
        except TooManyCalls:
            call.close()
            raise

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """A place for the time of the block, or until `give_up_place`. Raises TooManyCalls."""
        if len(self._at_work) >= self._limit:
            self._refused += 1
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

    def figures(self) -> PlaceFigures:
        """For the metrics."""
        return PlaceFigures(at_work=len(self._at_work), most=self._most, refused=self._refused, limit=self._limit)

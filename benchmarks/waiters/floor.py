"""The floor with calls that wait: `python -m benchmarks.waiters.floor PORT`. One event of asyncio wakes them all."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

from benchmarks import floor

if TYPE_CHECKING:
    from fastmcp import FastMCP


class _Waiting:
    """How many wait for the event that comes next."""

    def __init__(self) -> None:
        self.event = asyncio.Event()
        self.count = 0


def add_waiting(server: FastMCP[Any]) -> None:
    """`wait` until `wake`, which says when it woke (`perf_counter_ns`, the same in every process of a machine)."""
    waiting = _Waiting()

    @server.tool(output_schema=None)
    async def wait() -> dict[str, Any]:
        """Wait until somebody wakes."""
        event = waiting.event
        waiting.count += 1
        await event.wait()
        return {"messages": [{"id": 1}], "next_cursor": 1, "timed_out": False}

    @server.tool(output_schema=None)
    async def wake() -> dict[str, int]:
        """Wake whoever waits."""
        woken, waiting.count = waiting.count, 0
        at_ns = time.perf_counter_ns()
        waiting.event.set()
        waiting.event = asyncio.Event()
        return {"woken": woken, "at_ns": at_ns}

    @server.tool(output_schema=None)
    async def count() -> dict[str, int]:
        """Say how many wait."""
        return {"waiting": waiting.count}


if __name__ == "__main__":
    floor.main(add_waiting)

"""A task beside the requests that does one thing again and again, and says where health is read how it went."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress

from mcp_agent_mail.core.errors import AgentMailError


class Periodic:
    """`start()` on the running loop; `await stop()` lets a pass that is under way end. One pass comes at once.

    `work` looks at `is_stopping` between its steps. What a sick store raises ends the pass, not the task.
    """

    def __init__(self, name: str, work: Callable[[], Awaitable[None]], *, interval_s: float) -> None:
        self._name = name
        self._work = work
        self._interval_s = interval_s
        self._log = logging.getLogger(f"mcp_agent_mail.{name}")
        self._stopping = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self.last_error: str | None = None

    @property
    def is_stopping(self) -> bool:
        return self._stopping.is_set()

    def start(self) -> None:
        assert self._task is None
        self._task = asyncio.get_running_loop().create_task(self._keep_on(), name=self._name)
        self._task.add_done_callback(self._note_end)

    async def stop(self) -> None:
        """Nothing when it was never started."""
        self._stopping.set()
        if self._task is not None:
            await asyncio.wait([self._task])

    async def _keep_on(self) -> None:
        while not self.is_stopping:
            try:
                await self._work()
            except (AgentMailError, OSError) as failed:
                self.last_error = str(failed)
                self._log.warning("%s: a pass failed", self._name, extra={"facts": {"error": str(failed)}})
            else:
                self.last_error = None
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), self._interval_s)

    def _note_end(self, task: asyncio.Task[None]) -> None:
        """A task that ended by a bug says so."""
        if not task.cancelled() and (error := task.exception()) is not None:
            self.last_error = f"{self._name} ended: {error!r}"
            self._log.error("%s ended", self._name, exc_info=error)

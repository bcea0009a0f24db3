"""Keeps a task beside the requests at work: what ends it is logged, told to health, and followed by a new start.

Nobody awaits such a task, so without a keeper the first exception that it did not expect ends it in
silence: archiving once stopped until the restart because of one read error. Every task of the server
that is no part of a call has one of these (`tests/architecture` looks for those that have none).
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress

from mcp_agent_mail.core.clock import Clock, Micros, system_clock
from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.core.lazy.dataclass import dataclass

FIRST_PAUSE_S = 0.2
LAST_PAUSE_S = 30.0
LONG_ENOUGH_S = 60.0
"""Who worked so long before it failed is started again after the first pause."""
STOP_WITHIN_S = 2.0
"""What a pass under way gets to come to its end; then it is cancelled."""
CANCELLED_WITHIN_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class KeeperFigures:
    """`error` and `failing_since` are None while all is well; `restarts` counts since the start."""

    task: str
    is_running: bool
    restarts: int
    error: str | None
    failing_since: Micros | None


class Keeper:
    """`start()` on the running loop; `work` goes on until `stopping` is set, or ends when nothing is left to do.

    What `work` raises is followed by another run of it after a growing pause. `work` says `worked()` whenever it has
    come through: then what was wrong is over.
    """

    def __init__(
        self,
        name: str,
        work: Callable[[], Awaitable[None]],
        *,
        clock: Clock = system_clock,
        elapsed: Callable[[], float] = time.monotonic,
        first_pause_s: float = FIRST_PAUSE_S,
    ) -> None:
        self.name = name
        self.stopping = asyncio.Event()
        self._work = work
        self._clock = clock
        self._elapsed = elapsed
        self._first_pause_s = first_pause_s
        self._log = logging.getLogger(f"mcp_agent_mail.{name.replace('-', '_')}")
        self._task: asyncio.Task[None] | None = None
        self._restarts = 0
        self._error: str | None = None
        self._failing_since: Micros | None = None

    @property
    def is_running(self) -> bool:
        return self._task is not None and not self._task.done()

    @property
    def is_stopping(self) -> bool:
        return self.stopping.is_set()

    @property
    def error(self) -> str | None:
        """What is wrong just now, fit for everybody to read; None while all is well."""
        return self._error

    def figures(self) -> KeeperFigures:
        """How the task fares at this moment, for health and the metrics."""
        return KeeperFigures(
            task=self.name,
            is_running=self.is_running,
            restarts=self._restarts,
            error=self._error,
            failing_since=self._failing_since,
        )

    def start(self) -> None:
        """Begin, unless the stop has come. One that has ended by itself may be started again."""
        assert not self.is_running, self.name
        if not self.is_stopping:
            self._task = asyncio.get_running_loop().create_task(self._keep(), name=self.name)

    async def stop(self, within_s: float = STOP_WITHIN_S) -> None:
        """Let what is under way end, for so long; then cancel it. Safe to call twice, and without a start."""
        self.stopping.set()
        if self._task is None:
            return
        _, late = await asyncio.wait([self._task], timeout=within_s)
        if late:
            self._log.warning("%s did not end within %g s and is cancelled", self.name, within_s)
            self._task.cancel()
            await asyncio.wait([self._task], timeout=CANCELLED_WITHIN_S)

    async def rest(self, seconds: float) -> None:
        """Wait for so many seconds, whatever the wall clock does, or until the stop comes."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self.stopping.wait(), seconds)

    def worked(self) -> None:
        """Note that the work has come through: what was wrong is over, which is logged once."""
        if self._error is not None:
            self._log.info("%s works again", self.name)
        self._error = self._failing_since = None

    def failed(self, error: BaseException, *, has_ended: bool = False) -> None:
        """Note what went wrong, and log it once per change. For work that goes on by itself all the same; each end of
        the work is logged.
        """
        is_known = isinstance(error, AgentMailError | OSError)
        # Health is read by everybody: what a bug says of itself stays in the log.
        said = str(error) if is_known else f"an unexpected {type(error).__name__}; the log has it"
        if self._failing_since is None:
            self._failing_since = self._clock()
        if said == self._error and not has_ended:
            return
        self._error = said
        facts = {"facts": {"task": self.name, "error": str(error)}}
        if is_known:
            self._log.warning("%s failed; it is tried again", self.name, extra=facts)
        else:
            self._log.error("%s failed; it is started again", self.name, extra=facts, exc_info=error)

    async def _keep(self) -> None:
        pause_s = self._first_pause_s
        while True:
            began = self._elapsed()
            try:
                await self._work()
            except asyncio.CancelledError as cancelled:
                if _is_ours(asyncio.current_task()):
                    raise
                self.failed(cancelled, has_ended=True)  # What it awaited was cancelled, not it.
            except Exception as error:  # noqa: BLE001  # Whatever it is: it is told, and the work goes on.
                self.failed(error, has_ended=True)
            else:
                return
            if self._elapsed() - began > LONG_ENOUGH_S:
                pause_s = self._first_pause_s
            await self.rest(pause_s)
            if self.is_stopping:
                return
            pause_s = min(2 * pause_s, LAST_PAUSE_S)
            self._restarts += 1


def _is_ours(task: asyncio.Task[None] | None) -> bool:
    """Whether somebody asked this very task to end."""
    return task is not None and task.cancelling() > 0

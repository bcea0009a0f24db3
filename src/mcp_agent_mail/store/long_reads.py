"""Reads that may take long (search, exports, checks): few connections, each with a thread, off the event loop."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiosqlite

from mcp_agent_mail.core.errors import Unavailable
from mcp_agent_mail.store.connection import open_reading
from mcp_agent_mail.store.faults import StoreFailed, is_outside_fault

CONNECTIONS = 2
MAX_WAITING = 200
TIME_BOUND_S = 10.0
_AGAIN_S = 0.05
_ROWS_AT_ONCE = 64


class TooManyLongReads(Unavailable):
    """All reading connections are taken and enough callers wait already."""


class ReadTooLong(Unavailable):
    """The time bound of a long read is over; the query was interrupted."""


class LongReads:
    """A bounded pool of read-only connections, opened when first needed."""

    def __init__(
        self,
        path: Path,
        *,
        connections: int = CONNECTIONS,
        max_waiting: int = MAX_WAITING,
        time_bound_s: float = TIME_BOUND_S,
        echo: bool = False,
    ) -> None:
        self._path = path
        self._idle: list[aiosqlite.Connection] = []
        self._turns = asyncio.Semaphore(connections)
        self._max_waiting = max_waiting
        self._waiting = 0
        self._time_bound_s = time_bound_s
        self._echo = echo
        self._closed = False

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[aiosqlite.Connection]:
        """Lend a connection that cannot write. What still runs when the time is up is interrupted: ReadTooLong."""
        await self._take_turn()
        try:
            connection = self._idle.pop() if self._idle else await self._open()
            deadline = _Deadline(connection, self._time_bound_s)
            try:
                yield connection
            except sqlite3.Error as error:
                if deadline.is_over:
                    raise _too_long(self._time_bound_s) from error
                if is_outside_fault(error):
                    raise StoreFailed.because(error) from error
                raise
            except asyncio.CancelledError:
                connection._conn.interrupt()  # noqa: SLF001  # The caller left: free the thread for the next one.
                raise
            finally:
                deadline.cancel()
                if self._closed:
                    await connection.close()
                else:
                    self._idle.append(connection)
        finally:
            self._turns.release()

    async def close(self) -> None:
        """Close what is idle; a connection still lent out is closed when it comes back."""
        self._closed = True
        while self._idle:
            await self._idle.pop().close()

    async def _take_turn(self) -> None:
        if self._closed or (self._turns.locked() and self._waiting >= self._max_waiting):
            raise TooManyLongReads(
                "Too many searches and exports are running.", hint="Call again shortly.", data={"retry_after_s": 1}
            )
        self._waiting += 1
        try:
            await self._turns.acquire()
        finally:
            self._waiting -= 1

    async def _open(self) -> aiosqlite.Connection:
        return await aiosqlite.core.Connection(lambda: open_reading(self._path, echo=self._echo), _ROWS_AT_ONCE)


class _Deadline:
    """Interrupts whatever `connection` runs once the time is up, and again until cancelled.

    Once is not enough: SQLite forgets an interrupt that comes between two statements.
    """

    def __init__(self, connection: aiosqlite.Connection, seconds: float) -> None:
        self._connection = connection
        self._loop = asyncio.get_running_loop()
        self.is_over = False
        self._timer = self._loop.call_later(seconds, self._strike)

    def _strike(self) -> None:
        self.is_over = True
        self._connection._conn.interrupt()  # noqa: SLF001  # `interrupt()` only wraps this call in a coroutine.
        self._timer = self._loop.call_later(_AGAIN_S, self._strike)

    def cancel(self) -> None:
        self._timer.cancel()


def _too_long(seconds: float) -> ReadTooLong:
    return ReadTooLong(
        f"The query took longer than {seconds:g} s and was stopped.",
        hint="Ask for less: more specific words, a later since_ts, a smaller limit.",
        data={"retry_after_s": 1},
    )

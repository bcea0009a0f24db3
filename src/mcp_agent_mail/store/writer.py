"""The one writer: a thread that owns the writing connection and commits in natural groups.

Callers hand in units of work, plain functions of a `Tx`. While one group commits the next one
queues; the thread then takes all of it, runs each unit in its own SAVEPOINT inside one
BEGIN IMMEDIATE, commits once, and only then answers. So an answer means "on disk", and the cost
of `synchronous=FULL` is shared by everyone who waited.

When SQLite ends the whole transaction (FULL, IOERR, NOMEM), or COMMIT fails, no unit of the
group has happened: all of them answer UNAVAILABLE.
"""

from __future__ import annotations

import asyncio
import queue
import sqlite3
import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from mcp_agent_mail.core.errors import Unavailable
from mcp_agent_mail.core.failpoints import FailPoint, Reach
from mcp_agent_mail.store.view import Tx

T = TypeVar("T")
Unit = Callable[[Tx], T]

MAX_PENDING = 10_000
MAX_GROUP = 500


class StoreBusy(Unavailable):
    """The queue of the writer is full."""


class StoreFailed(Unavailable):
    """SQLite could not commit: nothing of the call was kept."""


class StoreClosed(Unavailable):
    """The server is stopping."""


class _Job(Generic[T]):
    __slots__ = ("error", "future", "result", "unit")

    def __init__(self, unit: Unit[T], future: asyncio.Future[T]) -> None:
        self.unit = unit
        self.future = future
        self.result: T | None = None
        self.error: BaseException | None = None

    def settle(self) -> None:
        """On the event loop: answer the caller, unless it has left."""
        if self.future.done():
            return
        if self.error is not None:
            self.future.set_exception(self.error)
        else:
            self.future.set_result(self.result)  # type: ignore[arg-type]  # None only where T is None


def _failed(error: sqlite3.Error) -> StoreFailed:
    return StoreFailed(
        f"The store could not write: {error}. Nothing of this call was kept.",
        hint="Call again in a moment; `am doctor verify` and the server's log say what is wrong.",
        data={"retry_after_s": 1},
    )


class Writer:
    """Runs units of work one after another. `on_commit` is called on the event loop after each group."""

    def __init__(
        self, connection: sqlite3.Connection, make_tx: Callable[[sqlite3.Connection], Tx], reach: Reach
    ) -> None:
        self._connection = connection
        self._make_tx = make_tx
        self._reach = reach
        self._queue: queue.SimpleQueue[_Job[Any] | None] = queue.SimpleQueue()
        self._loop = asyncio.get_running_loop()
        self._closed = False
        self._listeners: list[Callable[[], None]] = []
        self._thread = threading.Thread(target=self._run, name="store-writer", daemon=True)
        self._thread.start()

    def on_commit(self, listener: Callable[[], None]) -> None:
        self._listeners.append(listener)

    async def write(self, unit: Unit[T]) -> T:
        """Run `unit` and return its result once it is on disk."""
        if self._closed:
            raise StoreClosed("The server is stopping.", hint="Call again when it is back.")
        if self._queue.qsize() >= MAX_PENDING:
            raise StoreBusy(
                f"{MAX_PENDING} writes are waiting already.", hint="Call again shortly.", data={"retry_after_s": 1}
            )
        job = _Job(unit, self._loop.create_future())
        self._queue.put(job)
        return await job.future

    async def close(self) -> None:
        """Drain what is queued, then end the thread. Safe to call twice."""
        if not self._closed:
            self._closed = True
            self._queue.put(None)
        await asyncio.to_thread(self._thread.join)

    def _run(self) -> None:
        stopping = False
        while not stopping:
            group: list[_Job[Any]] = []
            job = self._queue.get()
            while job is not None:
                group.append(job)
                if len(group) >= MAX_GROUP:
                    break
                try:
                    job = self._queue.get_nowait()
                except queue.Empty:
                    break
            stopping = job is None
            if group:
                committed = self._commit(group)
                self._loop.call_soon_threadsafe(self._settle, group, committed)

    def _settle(self, group: list[_Job[Any]], committed: bool) -> None:
        for job in group:
            job.settle()
        if committed:
            for listener in self._listeners:
                listener()

    def _commit(self, group: list[_Job[Any]]) -> bool:
        """One transaction for the whole group. True when it is on disk."""
        connection = self._connection
        try:
            connection.execute("BEGIN IMMEDIATE")
            tx = self._make_tx(connection)
            for job in group:
                if not job.future.cancelled():
                    self._run_unit(tx, job)
            self._reach(FailPoint.BEFORE_COMMIT)
            connection.execute("COMMIT")
        except sqlite3.Error as error:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            for job in group:
                job.error = _failed(error)
            return False
        self._reach(FailPoint.AFTER_COMMIT)
        return True

    def _run_unit(self, tx: Tx, job: _Job[Any]) -> None:
        """Run one unit in its SAVEPOINT. Raises sqlite3.Error when the whole transaction is gone."""
        connection = self._connection
        connection.execute("SAVEPOINT unit")
        try:
            job.result = job.unit(tx)
        except Exception as error:
            if not connection.in_transaction:
                raise error if isinstance(error, sqlite3.Error) else sqlite3.OperationalError(str(error)) from error
            connection.execute("ROLLBACK TO unit")
            job.error = _failed(error) if isinstance(error, sqlite3.OperationalError) else error
        self._reach(FailPoint.IN_UNIT)
        connection.execute("RELEASE unit")

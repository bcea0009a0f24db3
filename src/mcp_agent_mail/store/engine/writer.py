"""The one writer: a thread that owns the writing connection and commits in natural groups.

Callers hand in units of work, plain functions of a `Tx`. While one group commits the next one
queues; the thread then takes all of it, runs each unit in its own SAVEPOINT inside one
BEGIN IMMEDIATE, commits once, and only then answers. So an answer means "on disk", and the cost
of `synchronous=FULL` is shared by everyone who waited.

A refusal (`AgentMailError`) waits for the COMMIT like a success does: what the unit saw may have
been another unit of the same group. When SQLite ends the whole transaction (FULL, IOERR, NOMEM),
or COMMIT fails, or the file is no longer under its name (`OpenFiles`), no unit of the group has happened: all of them
answer UNAVAILABLE. When that happens several times in a row, `CircuitBreaker` refuses what comes, but for probes.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
import queue
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

from mcp_agent_mail.core.concurrency.future_error import future_error
from mcp_agent_mail.core.concurrency.thread_names import name_this_thread
from mcp_agent_mail.core.errors import AgentMailError, Busy, Unavailable
from mcp_agent_mail.core.failpoints import FailPoint, FaultHook
from mcp_agent_mail.core.ids import AgentId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.copy_changes import CopyChange
from mcp_agent_mail.store.engine.circuit_breaker import CircuitBreaker
from mcp_agent_mail.store.engine.sqlite.changes import NOTHING, Changed, Changes
from mcp_agent_mail.store.engine.sqlite.faults import StoreFailed, is_outside_fault
from mcp_agent_mail.store.owed_work import Obligations
from mcp_agent_mail.store.transaction import Tx

T = TypeVar("T")
Unit = Callable[[Tx], T]

MAX_PENDING = 2_000
MAX_GROUP = 500

_log = logging.getLogger(__name__)


class StoreBusy(Busy):
    """The queue of the writer is full."""


class StoreClosed(Unavailable):
    """The server is stopping."""


class WriterEnded(Unavailable):
    """The thread that writes has ended, by a bug or for want of memory."""


class _TransactionLost(Exception):
    """The transaction of the group is gone or not to be trusted; `__cause__` says why."""


class _Job:
    """One unit of work on its way, with its outcome once the writer's thread has run it."""

    __slots__ = ("context", "error", "future", "has_run", "is_owed", "result", "unheard", "unit")

    def __init__(self, unit: Unit[Any], future: asyncio.Future[Any], unheard: Callable[[Any], None] | None) -> None:
        self.unit = unit
        self.unheard = unheard
        self.is_owed = False
        # What is logged inside carries the id of the caller's request, on this thread too.
        self.context = contextvars.copy_context()
        self.future = future
        self.result: object = None
        self.error: Exception | None = None
        self.has_run = False

    def settle(self) -> None:
        """On the event loop: answer the caller, unless it has left."""
        if self.future.done():
            if self.has_run and self.error is None and self.unheard is not None:
                self.unheard(self.result)
        elif self.error is not None:
            self.future.set_exception(self.error)
        else:
            self.future.set_result(self.result)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Outcome:
    """What became of a group's transaction. `fault`: what SQLite or the disk did, where that is why it failed. A COMMIT
    of nothing is no sign that the store can be written: `has_written`.
    """

    is_committed: bool
    has_written: bool = False
    fault: str = ""


_WRITTEN = _Outcome(is_committed=True, has_written=True)
_UNCHANGED = _Outcome(is_committed=True)


class Writer:
    """Runs units of work one after another. It owns `connection` and closes it when it ends."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        tx: Tx,
        fault_hook: FaultHook,
        *,
        max_pending: int = MAX_PENDING,
        max_group: int = MAX_GROUP,
        elapsed: Callable[[], float] = time.monotonic,
        require_in_place: Callable[[], None] = lambda: None,
    ) -> None:
        self._connection = connection
        self._tx = tx
        self._fault_hook = fault_hook
        self._max_pending, self._max_group = max_pending, max_group
        self._require_in_place = require_in_place
        self._queue: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._loop = asyncio.get_running_loop()
        self._closed = self._takes_no_more = False
        """Later than `_closed`: what nobody heard is undone before the end."""
        self._death: BaseException | None = None
        self._listeners: list[Callable[[], None]] = []
        self._unanswered: set[_Job] = set()
        """On the event loop alone: who must be told if the thread ends."""
        self.changes, self._changed = Changes(connection), NOTHING
        self._breaker = CircuitBreaker(elapsed)
        self.obligations = Obligations(self._queue_owed)
        self._thread = threading.Thread(target=self._run, name="store-writer", daemon=True)
        self._thread.start()

    def on_commit(self, listener: Callable[[], None]) -> None:
        """Call `listener` on the event loop after every commit, after the callers were answered."""
        self._listeners.append(listener)

    def on_mail_change(self, listener: Callable[[frozenset[AgentId]], None]) -> None:
        """Call `listener` on the event loop, from the next group on, with the agents whose unread mail or
        feed a commit changed.
        """
        self.changes.of_mail.append(listener)

    def on_copy_change(self, listener: Callable[[frozenset[CopyChange]], None]) -> None:
        """Likewise with what a commit changed of messages and their copies."""
        self.changes.of_copies.append(listener)

    def on_right_change(self, listener: Callable[[frozenset[AgentId]], None]) -> None:
        """Likewise with the agents whose token, standing or project a commit changed."""
        self.changes.of_rights.append(listener)

    @property
    def problem(self) -> str | None:
        """Why writes are refused at once just now, for health; None while they are tried."""
        return self._breaker.problem

    def pending(self) -> int:
        """How many units wait for the next group."""
        return self._queue.qsize()

    async def write(self, unit: Unit[T], unheard: Callable[[T], None] | None = None) -> T:
        """Run `unit` and return its result once it is on disk.

        Cancelled before the unit has started, it is skipped; after that it completes, and `unheard` is called on the
        event loop with what nobody waits for any more.
        """
        if self._closed:
            raise StoreClosed("The server is stopping.", hint="Call again when it is back.")
        if self._death is not None:
            raise _ended(self._death)
        if self._queue.qsize() >= self._max_pending:
            raise StoreBusy(f"{self._max_pending} writes are waiting already.")
        if unheard is not None and self.obligations.is_full:
            raise StoreBusy(f"{len(self.obligations)} outcomes of earlier calls could not be stored yet.")
        is_probe = self._breaker.admit()
        future: asyncio.Future[T] = self._loop.create_future()
        job = _Job(unit, future, unheard)
        self._unanswered.add(job)
        self._queue.put(job)
        try:
            return await future
        except asyncio.CancelledError:
            # Cancelled in the moment between the answer and its reader's turn.
            if unheard is not None and not future.cancelled() and future.done() and future.exception() is None:
                unheard(future.result())
            raise
        finally:
            self._unanswered.discard(job)
            if is_probe:
                self._breaker.probe_ended()

    def write_soon(self, unit: Unit[T], stored: Callable[[T], None] | None = None) -> None:
        """Owe `unit`, on the event loop and however full the queue is: nobody waits for it, and it is tried until the
        store takes it. Then `stored` is called with its result.
        """
        if self._takes_no_more or self._death is not None:
            _log.warning("A write that nobody waits for came after the last one; it is not made.")
            return
        self.obligations.add(unit, stored)

    def _queue_owed(self, unit: Unit[T]) -> asyncio.Future[T]:
        future: asyncio.Future[T] = self._loop.create_future()
        job = _Job(unit, future, None)
        job.is_owed = True
        self._unanswered.add(job)
        future.add_done_callback(lambda _: self._unanswered.discard(job))
        self._queue.put(job)
        return future

    async def close(self) -> None:
        """Answer everything that is queued, then end the thread. Safe to call twice.

        A cancelled `close` does not stop the draining, it only stops waiting for it.
        """
        if not self._closed:
            self._closed = True
            try:
                await self._settled()
                self.obligations.try_for_the_last_time()
                await self._settled()  # The first of them,
                await self._settled()  # and the others.
            finally:
                self._takes_no_more = True
                self.obligations.drop()
                self._queue.put(None)
        await asyncio.to_thread(self._thread.join)

    async def _settled(self) -> None:
        """Until whatever was queued before is answered: so what nobody heard has queued its undoing."""
        if self._death is not None:
            return
        last: asyncio.Future[None] = self._loop.create_future()
        job = _Job(_nothing, last, None)
        self._unanswered.add(job)
        self._queue.put(job)
        with suppress(AgentMailError):
            await asyncio.shield(last)
        self._unanswered.discard(job)

    def _run(self) -> None:
        name_this_thread("store-writer")
        try:
            self._work()
        except BaseException as death:  # noqa: BLE001  # Whatever ends the thread: nobody may wait for it for ever.
            _log.critical("The writer's thread ended; nothing can be written any more", exc_info=death)
            with suppress(RuntimeError):  # The loop is closed: nobody is left to tell.
                self._loop.call_soon_threadsafe(self._bury, death)
        finally:
            self._connection.close()

    def _work(self) -> None:
        open_for_work = True
        while open_for_work:
            group, open_for_work = self._next_group()
            if group and not self._answer(group, self._commit(group)):
                return

    def _bury(self, death: BaseException) -> None:
        """On the event loop: tell everybody who waits, and everybody who comes."""
        self._death = death
        self.obligations.end()
        for job in list(self._unanswered):
            job.result, job.error = None, _ended(death)
            job.settle()

    def _next_group(self) -> tuple[list[_Job], bool]:
        """All that has queued, waiting for the first; False with the last group there will be."""
        group: list[_Job] = []
        job = self._queue.get()
        while job is not None:
            group.append(job)
            if len(group) >= self._max_group:
                return group, True
            try:
                job = self._queue.get_nowait()
            except queue.Empty:
                return group, True
        return group, False

    def _answer(self, group: list[_Job], outcome: _Outcome) -> bool:
        """Hand the answers to the event loop; False when it is closed, so that no one is left to answer."""
        try:
            told = (self._listeners, self._changed) if outcome.is_committed else ([], NOTHING)
            self._loop.call_soon_threadsafe(self._settle, group, outcome, *told)
        except RuntimeError:
            _log.warning("The event loop ended before the store was closed: %d calls go unanswered.", len(group))
            return False
        return True

    def _settle(
        self,
        group: list[_Job],
        outcome: _Outcome,
        listeners: list[Callable[[], None]],
        changed: Changed,
    ) -> None:
        if outcome.fault and not all(job.is_owed for job in group):
            # What is tried again by ourselves would put off the next call that may try.
            self._breaker.note_failure(outcome.fault)
        elif outcome.has_written:
            self._breaker.note_commit()
        for job in group:
            job.settle()
        for listener in listeners:
            # Each on its own: an error in one is reported by the loop and keeps no other from being told.
            self._loop.call_soon(listener)
        self.changes.tell(self._loop, changed)

    def _commit(self, group: list[_Job]) -> _Outcome:
        """One transaction for the whole group. Unless it is on disk, every job holds an error."""
        changes_before = self._connection.total_changes
        try:
            self._transact(group)
        except BaseException as error:  # noqa: BLE001  # The thread outlives whatever a unit or SQLite does.
            self._roll_back()
            cause = error.__cause__ if isinstance(error, _TransactionLost) and error.__cause__ else error
            _log.error("A group of %d writes was not committed: %r", len(group), cause, exc_info=cause)
            for job in group:
                job.result, job.error = None, StoreFailed.because(cause)
                job.error.__cause__ = cause
                if job.is_owed:
                    self.obligations.group_failed()
            return _Outcome(is_committed=False, fault=str(cause) if is_outside_fault(cause) else "")
        try:
            self._tx.committed()
            self._fault_hook(FailPoint.AFTER_COMMIT)
        except BaseException:  # noqa: BLE001  # Likewise.
            _log.exception("After a commit; what was committed is answered as such.")
        has_changed = self._connection.total_changes != changes_before
        return _WRITTEN if has_changed and any(job.has_run for job in group) else _UNCHANGED

    def _transact(self, jobs: list[_Job]) -> None:
        if self._connection.in_transaction:  # An earlier ROLLBACK failed: never go on inside what it left.
            self._connection.execute("ROLLBACK")
        self.changes.watch()
        self._connection.execute("BEGIN IMMEDIATE")
        for job in jobs:
            if not job.future.cancelled():
                self._run_unit(job)
        self._changed = self.changes.take()
        self._require_in_place()
        self._fault_hook(FailPoint.BEFORE_COMMIT)
        self._connection.execute("COMMIT")

    def _run_unit(self, job: _Job) -> None:
        """Run one unit in its SAVEPOINT: its own failure stays its own as long as the transaction stands."""
        connection = self._connection
        connection.execute("SAVEPOINT unit")
        try:
            self._tx.begin()
            job.result = job.context.run(job.unit, self._tx)
            self._fault_hook(FailPoint.IN_UNIT)
            job.has_run = True
        except BaseException as error:
            if not connection.in_transaction:
                raise _TransactionLost from error
            # If the transaction was lost and the unit went on, this savepoint is gone, and this raises.
            connection.execute("ROLLBACK TO unit")
            job.error = _told(error)
        connection.execute("RELEASE unit")

    def _roll_back(self) -> None:
        with suppress(sqlite3.Error):  # Tried again before the next BEGIN.
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")


def _ended(death: BaseException) -> WriterEnded:
    ended = WriterEnded(
        "The server cannot write any more: the thread that does has ended.",
        hint="The operator restarts the server. Whether this call was done shows then; a repeat with an "
        "idempotency_key is safe.",
    )
    ended.__cause__ = death
    return ended


def _nothing(_tx: Tx) -> None:
    """A unit that only waits for its turn."""


def _told(error: BaseException) -> Exception:
    """What the caller of a unit that raised `error` gets."""
    return StoreFailed.because(error) if is_outside_fault(error) else future_error(error, "a unit of work")

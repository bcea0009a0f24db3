"""The store: one writer, short reads on the event loop, long reads off it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from mcp_agent_mail.core.clock import Clock, system_clock
from mcp_agent_mail.core.errors import Busy, Unavailable
from mcp_agent_mail.core.failpoints import FaultHook, no_fault
from mcp_agent_mail.core.ids import AgentId
from mcp_agent_mail.core.tools import current_turn
from mcp_agent_mail.domain.copy_changes import CopyChange, OversightChange
from mcp_agent_mail.store.engine.expiry_clock import ExpiryClock
from mcp_agent_mail.store.engine.growth_limit import GrowthLimit
from mcp_agent_mail.store.engine.instrumentation import QueryFigures
from mcp_agent_mail.store.engine.port import Connection, TimeBound
from mcp_agent_mail.store.engine.sqlite.connection import open_reading, open_writing
from mcp_agent_mail.store.engine.sqlite.faults import OpenFiles, is_outside_fault
from mcp_agent_mail.store.engine.sqlite.long_reads import LongReads
from mcp_agent_mail.store.engine.sqlite.migrate import migrate, take_back_unfinished
from mcp_agent_mail.store.engine.sqlite.schema import require_own_schema
from mcp_agent_mail.store.engine.writer import Unit, Writer
from mcp_agent_mail.store.mail.message_events import end_expired
from mcp_agent_mail.store.transaction import Tx, View, open_view

T = TypeVar("T")


class Store:
    """`async with Store(path) as store`: opens, migrates, and closes after draining the writer.

    Whoever opens it holds the kernel lock of the store (`store.engine.lock`); this class does not take it.
    """

    queries: QueryFigures | None = None
    """What reads and units of work cost, where that is counted (`store/instrumented_store.py`)."""

    def __init__(
        self,
        path: Path,
        *,
        clock: Clock = system_clock,
        elapsed: Callable[[], float] = time.monotonic,
        fault_hook: FaultHook = no_fault,
        echo: bool = False,
    ) -> None:
        self._path = path
        self._clock = clock
        self._elapsed = elapsed
        self.growth = GrowthLimit()
        self._expiries = ExpiryClock(clock)
        self._ending = 0
        self._fault_hook = fault_hook
        self._echo = echo
        self._closing = AsyncExitStack()

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as opened:
            take_back_unfinished(self._path)
            if self._path.exists() and self._path.stat().st_size:
                # Before a migration: what somebody else put there would run with it.
                require_own_schema(self._path)
            migrate(self._path, fault_hook=self._fault_hook)
            counts = self.queries is not None
            self._writing = writing = open_writing(self._path, echo=self._echo, counts=counts)
            opened.callback(writing.close)
            tx = Tx(writing, self._clock, self.growth, self._expiries)
            self._files = OpenFiles(self._path)
            self._writer = Writer(
                writing,
                tx,
                self._fault_hook,
                elapsed=self._elapsed,
                require_in_place=self._files.glance,
            )
            opened.push_async_callback(self._writer.close)
            self._reading = open_reading(self._path, echo=self._echo, counts=counts)
            opened.callback(self._reading.close)
            self._view = View(self._reading, self._clock)
            self._expiries.reset(self._view.ladder.earliest_expiry())
            self._long_reads = LongReads(self._path, files=self._files, echo=self._echo, counts=counts)
            opened.push_async_callback(self._long_reads.close)
            self._closing = opened.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._closing.aclose()

    @property
    def path(self) -> Path:
        return self._path

    @property
    def problem(self) -> str | None:
        """Why all writes, or those that make the store grow, are refused just now, or what is owed could not be stored;
        None while nothing is so.
        """
        sick = self._files.problem or self._writer.problem
        return sick or self._writer.obligations.problem or self.growth.problem

    def require_in_place(self) -> None:
        """Raise DatabaseTakenAway where the files that are open are not those under their names any more."""
        self._files.require_in_place()

    def count_owed(self) -> int:
        """How many outcomes that nobody waits for are not stored yet."""
        return len(self._writer.obligations)

    def on_commit(self, listener: Callable[[], None]) -> None:
        """Call `listener` on the event loop after every group of units that was committed."""
        self._writer.on_commit(listener)

    def on_mail_change(self, listener: Callable[[frozenset[AgentId]], None]) -> None:
        """Call `listener` on the event loop with the agents whose unread mail or feed a commit changed.

        It is sure to hear of what is committed after a write that was asked for after this call.
        """
        self._writer.on_mail_change(listener)

    def on_copy_change(self, listener: Callable[[frozenset[CopyChange]], None]) -> None:
        """Likewise with what a commit changed of messages and their copies."""
        self._writer.on_copy_change(listener)

    def on_right_change(self, listener: Callable[[frozenset[AgentId]], None]) -> None:
        """Likewise with the agents whose token, standing or project a commit changed."""
        self._writer.on_right_change(listener)

    def on_oversight_change(self, listener: Callable[[frozenset[OversightChange]], None]) -> None:
        """Likewise with what a commit changed of contacts, leases, held mail and agents."""
        self._writer.changes.of_oversight.append(listener)

    async def write(self, unit: Unit[T], *, unheard: Callable[[Tx, T], object] | None = None) -> T:
        """Run `unit` in the writer's next transaction; return its result once it is on disk.

        Check and insert belong in one unit. A unit touches nothing but its `tx`: it may be run
        in a transaction that is rolled back. A caller that is cancelled while the unit runs never learns
        of its result: then `unheard` is run with it, as `write_soon` runs a unit.
        """
        await self._end_some()
        if unheard is None:
            return await self._writer.write(unit)
        return await self._writer.write(unit, lambda result: self.write_soon(lambda tx: unheard(tx, result)))

    def write_soon(self, unit: Unit[T], stored: Callable[[T], None] | None = None) -> None:
        """Owe `unit` from the event loop; nobody waits for it. What the store cannot take now is kept, in order, and
        tried again until it does or the process ends; what fails by its own fault is logged and dropped. Once it is on
        disk `stored` is called with its result, on the event loop.
        """
        self._writer.write_soon(unit, stored)

    async def read(self, query: Callable[[View], T]) -> T:
        """A short, indexed, bounded read: all of `query` sees one instant of the store, and every write is refused.

        With SQLite it runs on the event loop and never suspends, so that nobody comes between the awaits around it.
        A caller must not rely on that: another engine answers over a connection, and others run meanwhile. Who reads
        never sees mail as unread whose time has passed, whether its end is written down (`end_expired`) or not.
        """
        await self._end_some()
        return self.read_now(query)

    async def end_expired(self) -> bool:
        """Write down the ends of some copies of mail whose time has passed; whether there may be more. Raises what a
        sick store raises.
        """
        if self._expiries.is_due:
            self._ending += 1
            try:
                await self._writer.write(end_expired)
            finally:
                self._ending -= 1
        return self._expiries.is_due

    async def _end_some(self) -> None:
        """Before a read or a write: so feeds and counts are true at once where few copies end. Nobody waits for many,
        nor for a store that cannot be written: queries know what has ended.
        """
        if self._expiries.is_due and not self._ending and not (self._files.problem or self._writer.problem):
            with suppress(Busy, Unavailable):
                await self.end_expired()

    def read_now(self, query: Callable[[View], T]) -> T:
        """As `read`, for what cannot await: a listener that is told of a commit.

        Only an engine that reads on the calling thread has it.
        """
        reading = self._reading
        try:
            reading.execute("BEGIN")
            self._view.begin()
            try:
                return query(self._view)
            finally:
                if reading.in_transaction:  # SQLite may have ended it by itself.
                    reading.execute("ROLLBACK")
        except Exception as error:
            if is_outside_fault(error):
                raise self._files.fault_of(error) from error
            raise

    async def let_go_of_pages(self) -> None:
        """Free the caches of the database's pages, for a time in which nothing is to do: the next calls read what they
        need from the system's own cache. Nothing is written. Raises what a write raises.
        """
        await self._writer.write(lambda tx: tx.meta.let_go_of_pages())
        self.read_now(lambda view: view.meta.let_go_of_pages())
        await self._long_reads.close_idle()

    @contextmanager
    def view_aside(self) -> Iterator[View]:
        """A view with a connection of its own, for another thread. Raises DatabaseTakenAway as soon as another file is
        under the database's name.
        """
        with self._files.held_in_place(), open_view(self._path) as view:
            yield view

    async def long_read(self, query: Callable[[Connection, TimeBound], T]) -> T:
        """What `query` gives, as a whole on a thread with a read-only connection of its own: for searches, summaries
        and sweeps. Bounded in time: it asks its bound between statements where it does more there than a moment's work.
        """
        return await self._long_reads.run(query, current_turn())

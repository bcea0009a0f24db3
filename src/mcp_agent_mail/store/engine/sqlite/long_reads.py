"""Reads that may take long (searches, summaries, sweeps): few connections, each with a thread, off the event loop."""

from __future__ import annotations

import asyncio
import contextvars
import sqlite3
import time
import traceback
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import aiosqlite

from mcp_agent_mail.core.concurrency.future_error import future_error
from mcp_agent_mail.core.concurrency.thread_names import name_this_thread
from mcp_agent_mail.core.concurrency.turns import TurnBounds, Turns
from mcp_agent_mail.core.errors import Busy, Unavailable
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.store.engine.port import Connection, TimeBound
from mcp_agent_mail.store.engine.sqlite.connection import open_reading
from mcp_agent_mail.store.engine.sqlite.faults import OpenFiles, is_damage, is_outside_fault

T = TypeVar("T")

CONNECTIONS = 2
EACH = 1
"""Connections that one caller may have: whatever it searches for, the other one is free for others."""
MAX_WAITING = 200
MAX_WAITING_EACH = 20
TURN_WITHIN_S = 20.0
TIME_BOUND_S = 4.0
_STEPS_BETWEEN_LOOKS = 50_000
_FEW_STEPS = 200


class StoreClosing(Unavailable):
    """No connection is lent any more."""


class ReadTooLong(Busy):
    """The time bound of a long read is over; the query was interrupted."""


class LongReads:
    """A bounded pool of read-only connections, opened when first needed, and only of the database whose `files` are
    open: a connection belongs to the file that it was opened on, whatever is under the name later.
    """

    def __init__(
        self,
        path: Path,
        *,
        files: OpenFiles | None = None,
        connections: int = CONNECTIONS,
        max_waiting: int = MAX_WAITING,
        time_bound_s: float = TIME_BOUND_S,
        echo: bool = False,
        counts: bool = False,
    ) -> None:
        self._path = path
        self._files = OpenFiles(path) if files is None else files
        self._idle: list[_Lent] = []
        self._ending: set[asyncio.Future[Any]] = set()
        bounds = TurnBounds(
            places=connections,
            places_each=EACH,
            waiting_each=min(MAX_WAITING_EACH, max_waiting),
            waiting=max_waiting,
            within_s=TURN_WITHIN_S,
        )
        self._turns = Turns("searches and summaries", bounds)
        self._time_bound_s = time_bound_s
        self._echo = echo
        self._counts = counts
        self._closed = False

    async def run(self, query: Callable[[Connection, TimeBound], T], caller: str = "server") -> T:
        """What `query` gives, as a whole on the thread of a connection that cannot write; all of it sees one instant of
        the store. What still runs when the time is up is stopped: ReadTooLong.

        Callers take turns. A place is free when the thread has ended, also where the caller has gone: then `query` is
        told to end, by its bound. Raises TooMuchAtOnce, DatabaseTakenAway where another file would have to be opened,
        and StoreFailed for what SQLite could not read.
        """
        async with self._lending(caller) as lent:
            connection = lent.connection
            # tests/store/engine/sqlite/test_long_reads.py notices when they move.
            working: asyncio.Future[T] = asyncio.ensure_future(
                # What is logged there carries the id of the caller's request.
                connection._execute(contextvars.copy_context().run, _read, query, connection._conn, lent.bound)  # type: ignore[no-untyped-call]  # noqa: SLF001
            )
            try:
                return await asyncio.shield(working)
            except asyncio.CancelledError:
                lent.bound.is_cancelled = True
                while not working.done():
                    with suppress(asyncio.CancelledError):  # It is cancelled already.
                        await asyncio.wait([working])
                if not working.cancelled():
                    working.exception()  # Nobody else asks for it.
                raise

    @asynccontextmanager
    async def _lending(self, caller: str) -> AsyncIterator[_Lent]:
        self._require_open()
        async with self._turns.turn(caller):
            self._require_open()  # It may have been closed while others were served.
            lent = self._idle.pop() if self._idle else await self._opened()
            lent.bound.begin(self._time_bound_s)
            try:
                yield lent
            except asyncio.CancelledError:
                # It may have been told to begin and not have begun: so it is not lent again.
                self._discard(lent.connection)
                raise
            except sqlite3.Error as error:
                if is_damage(error):
                    # What it holds of the file may be what is wrong.
                    self._discard(lent.connection)
                else:
                    await self._give_back(lent)
                raise self._told(error, lent.bound) from error
            except BaseException:
                await self._give_back(lent)
                raise
            else:
                await self._give_back(lent)

    def _require_open(self) -> None:
        if self._closed:
            raise StoreClosing("The server is stopping.", hint="Call again when it is back.")

    async def close(self) -> None:
        """Close what is idle; a connection still lent out is closed when it comes back."""
        self._closed = True
        await self.close_idle()
        while self._ending:
            await self._ending.pop()

    async def close_idle(self) -> None:
        """Close those that nobody uses; whoever comes next opens one."""
        while self._idle:
            await self._idle.pop().connection.close()

    async def _opened(self) -> _Lent:
        bound = ReadBound()
        try:
            return await self._open(bound)
        except sqlite3.Error as error:
            raise self._told(error, bound) from error

    async def _open(self, bound: ReadBound) -> _Lent:
        """Of the database that is open, and with its log: both are opened by their names. Of another file nothing is
        read, since that would meet this one's log.
        """

        def connect() -> sqlite3.Connection:
            name_this_thread("long-reads")
            connection = open_reading(self._path, echo=self._echo, counts=self._counts)
            bound.watch(connection)
            return connection

        self._files.require_in_place()
        connection = aiosqlite.core.Connection(connect, iter_chunk_size=1)
        try:
            await connection
        except BaseException:
            # The library has told its thread to stop, and tells nobody when that has ended.
            self._await_end(asyncio.get_running_loop().run_in_executor(None, connection._thread.join))  # noqa: SLF001
            raise
        try:
            bound.begin(self._time_bound_s)
            await connection.execute_fetchall("SELECT count(*) FROM sqlite_schema")
            self._files.require_in_place()
        except BaseException:
            self._discard(connection)
            raise
        return _Lent(connection, bound)

    async def _give_back(self, lent: _Lent) -> None:
        if self._closed:
            await lent.connection.close()
        else:
            self._idle.append(lent)

    def _discard(self, connection: aiosqlite.Connection) -> None:
        ended = connection.stop()
        if ended is not None:
            self._await_end(ended)

    def _await_end(self, ended: asyncio.Future[Any]) -> None:
        self._ending.add(ended)
        ended.add_done_callback(self._ending.discard)

    def _told(self, error: sqlite3.Error, bound: ReadBound) -> Exception:
        if bound.is_over:
            return ReadTooLong(
                f"The query took longer than {self._time_bound_s:g} s and was stopped.",
                first="Ask for less: more specific words, a later since_ts, a smaller limit.",
            )
        return self._files.fault_of(error) if is_outside_fault(error) else error


def _read(query: Callable[[Connection, TimeBound], T], connection: sqlite3.Connection, bound: ReadBound) -> T:
    """On the connection's thread. What goes wrong leaves no statement under way: it would hold back what the next read
    sees of the store.
    """
    try:
        connection.execute("BEGIN")
        try:
            return query(connection, bound)
        finally:
            if connection.in_transaction:  # SQLite may have ended it by itself.
                connection.execute("ROLLBACK")
    except BaseException as raised:
        traceback.clear_frames(raised.__traceback__)
        error = future_error(raised, "a long read")
        if error is raised:
            raise
        raise error from raised


class ReadBound:
    """How long one read may work: SQLite asks while it runs a statement, and a query that does more between its
    statements asks there.
    """

    def __init__(self) -> None:
        self._watched: sqlite3.Connection | None = None
        self.begin(0)

    def watch(self, connection: sqlite3.Connection) -> None:
        """From now on the connection's statements are bound by it."""
        self._watched = connection
        connection.set_progress_handler(self.is_to_stop, _STEPS_BETWEEN_LOOKS)

    def begin(self, seconds: float) -> None:
        self.is_over = False
        self.is_cancelled = False
        self._deadline = time.monotonic() + seconds

    def is_to_stop(self) -> bool:
        """On the connection's thread, every few milliseconds of a statement."""
        if time.monotonic() > self._deadline:
            self.is_over = True
        return self.is_over or self.is_cancelled

    def require(self) -> None:
        """Raise what SQLite raises of a statement that it has stopped."""
        if self.is_to_stop():
            stopped = sqlite3.OperationalError("interrupted")
            stopped.sqlite_errorcode = sqlite3.SQLITE_INTERRUPT
            raise stopped

    @contextmanager
    def asked_often(self) -> Iterator[None]:
        """Inside, SQLite asks at every few steps: where single ones take long."""
        assert self._watched is not None
        self._watched.set_progress_handler(self.is_to_stop, _FEW_STEPS)
        try:
            yield
        finally:
            self.watch(self._watched)


@dataclass(frozen=True, slots=True)
class _Lent:
    connection: aiosqlite.Connection
    bound: ReadBound

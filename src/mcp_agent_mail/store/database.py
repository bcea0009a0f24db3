"""The store: one writer, short reads on the event loop, long reads off it."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

import aiosqlite

from mcp_agent_mail.core.clock import Clock, system_clock
from mcp_agent_mail.core.failpoints import Reach, no_fault
from mcp_agent_mail.store.connection import open_reading, open_writing
from mcp_agent_mail.store.migrate import migrate
from mcp_agent_mail.store.view import Tx, View
from mcp_agent_mail.store.writer import Unit, Writer

T = TypeVar("T")


class Store:
    """`async with Store(path) as store`: opens, migrates, and closes after draining the writer.

    Whoever opens it holds the kernel lock of the store (`store.lock`); this class does not take it.
    """

    def __init__(self, path: Path, *, clock: Clock = system_clock, reach: Reach = no_fault) -> None:
        self._path = path
        self._clock = clock
        self._reach = reach

    async def __aenter__(self) -> Self:
        self._writing = open_writing(self._path)
        migrate(self._writing, self._path, reach=self._reach)
        self._reading = open_reading(self._path)
        self._view = View(self._reading)
        self._writer = Writer(self._writing, self._tx, self._reach)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._writer.close()
        self._reading.close()
        self._writing.close()

    def _tx(self, connection: sqlite3.Connection) -> Tx:
        return Tx(connection, self._clock)

    def on_commit(self, listener: Callable[[], None]) -> None:
        """Call `listener` on the event loop after every group of units that was committed."""
        self._writer.on_commit(listener)

    async def write(self, unit: Unit[T]) -> T:
        """Run `unit` in the writer's next transaction; return its result once it is on disk.

        Check and insert belong in one unit. A unit touches nothing but its `tx`: it may be run
        in a transaction that is rolled back.
        """
        return await self._writer.write(unit)

    def read(self, query: Callable[[View], T]) -> T:
        """A short, indexed, bounded read, on the calling thread (the event loop)."""
        return query(self._view)

    @asynccontextmanager
    async def long_read(self) -> AsyncIterator[aiosqlite.Connection]:
        """A read-only connection with a thread of its own, for searches, exports and checks."""
        async with aiosqlite.connect(f"{self._path.absolute().as_uri()}?mode=ro", uri=True) as connection:
            yield connection

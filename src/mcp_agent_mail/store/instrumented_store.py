"""The store that counts: it stands in for `Store` where INSTRUMENTATION_ENABLED asks for it, and costs nobody else."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from mcp_agent_mail.core.clock import Clock, system_clock
from mcp_agent_mail.core.failpoints import FaultHook, no_fault
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.engine.instrumentation import QueryFigures, name_of
from mcp_agent_mail.store.engine.port import Connection, TimeBound
from mcp_agent_mail.store.engine.sqlite.connection import CountingConnection
from mcp_agent_mail.store.engine.writer import Unit
from mcp_agent_mail.store.transaction import Tx, View

T = TypeVar("T")

_BEGIN_AND_ROLLBACK = 2


class InstrumentedStore(Store):
    """Notes every read, unit of work and long read in `queries`, by the function that made it."""

    def __init__(
        self,
        path: Path,
        queries: QueryFigures,
        *,
        clock: Clock = system_clock,
        fault_hook: FaultHook = no_fault,
        echo: bool = False,
    ) -> None:
        super().__init__(path, clock=clock, fault_hook=fault_hook, echo=echo)
        self.queries: QueryFigures = queries

    async def write(self, unit: Unit[T], *, unheard: Callable[[Tx, T], object] | None = None) -> T:
        """As `Store.write`; the unit's time (seconds) and statements are noted, whether it succeeds or raises."""

        def measured(tx: Tx) -> T:
            before, began = _statements(self._writing), time.perf_counter()
            try:
                return unit(tx)
            finally:
                took_s = time.perf_counter() - began
                self.queries.note("unit", name_of(unit), took_s, _statements(self._writing) - before)

        return await super().write(measured, unheard=unheard)

    def read_now(self, query: Callable[[View], T]) -> T:
        """As `Store.read_now`, and noted under the name of `query`."""
        before, began = _statements(self._reading), time.perf_counter()
        try:
            return super().read_now(query)
        finally:
            took_s = time.perf_counter() - began
            statements = _statements(self._reading) - before - _BEGIN_AND_ROLLBACK
            self.queries.note("read", name_of(query), took_s, max(0, statements))

    async def long_read(self, query: Callable[[Connection, TimeBound], T]) -> T:
        """As `Store.long_read`, and noted under the name of `query`."""

        def measured(connection: Connection, bound: TimeBound) -> T:
            before, began = _statements(connection), time.perf_counter()
            try:
                return query(connection, bound)
            finally:
                took_s = time.perf_counter() - began
                self.queries.note("long_read", name_of(query), took_s, _statements(connection) - before)

        return await super().long_read(measured)


def _statements(connection: Connection) -> int:
    assert isinstance(connection, CountingConnection)
    return connection.statements

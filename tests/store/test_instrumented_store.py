"""A store that counts answers as any store does, and notes what it ran."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.errors import InvalidInput
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.engine.instrumentation import QueryFigures
from mcp_agent_mail.store.engine.port import Connection, TimeBound
from mcp_agent_mail.store.instrumented_store import InstrumentedStore
from mcp_agent_mail.store.transaction import Tx, View

HERE = __name__


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[InstrumentedStore]:
    async with InstrumentedStore(tmp_path / "mail.sqlite3", QueryFigures(slow_ms=60_000), echo=True) as opened:
        yield opened


def noted(store: InstrumentedStore) -> dict[tuple[str, str], tuple[int, int]]:
    """Runs and statements by kind and the last word of the function."""
    figures = store.queries.functions()
    return {(one.kind, one.function.rpartition(".")[2]): (one.runs, one.statements) for one in figures}


async def test_a_read_is_noted_with_the_statements_of_its_query(store: InstrumentedStore) -> None:
    def look_twice(view: View) -> tuple[Micros | None, Micros | None]:
        return view.meta.checked_at(), view.meta.checked_at()

    assert await store.read(look_twice) == (None, None)

    assert noted(store) == {("read", "look_twice"): (1, 2)}


async def test_a_unit_is_noted_whether_it_is_kept_or_refused(store: InstrumentedStore) -> None:
    def note(tx: Tx) -> str:
        tx.meta.note_check(Micros(7))
        return "kept"

    def refuse(tx: Tx) -> None:
        tx.meta.note_check(Micros(8))
        raise InvalidInput("no")

    assert await store.write(note) == "kept"
    with pytest.raises(InvalidInput):
        await store.write(refuse)

    assert await store.read(lambda view: view.meta.checked_at()) == 7
    assert noted(store)["unit", "note"] == (1, 1)
    assert noted(store)["unit", "refuse"] == (1, 1)


async def test_a_statement_that_fails_counts_too(store: InstrumentedStore) -> None:
    def write(view: View) -> None:
        view.meta.note_check(Micros(1))

    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        await store.read(write)

    assert noted(store) == {("read", "write"): (1, 1)}


async def test_a_plain_store_counts_nothing(tmp_path: Path) -> None:
    async with Store(tmp_path / "mail.sqlite3") as store:
        await store.read(lambda view: view.meta.checked_at())

        assert store.queries is None


def _count_twice(connection: Connection, _: TimeBound) -> int:
    return sum(connection.execute("SELECT count(*) FROM projects").fetchone()[0] for _ in range(2))


async def test_a_long_read_is_noted_by_what_it_does(store: InstrumentedStore) -> None:
    assert await store.long_read(_count_twice) == 0
    assert await store.long_read(_count_twice) == 0

    ((kind, name),) = noted(store)
    assert (kind, name.endswith("_count_twice")) == ("long_read", True)
    assert noted(store)[kind, name] == (2, 4)

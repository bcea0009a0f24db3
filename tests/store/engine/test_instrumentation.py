"""Figures of reads and units of work."""

from __future__ import annotations

import logging
from functools import partial

import pytest

from mcp_agent_mail.store.engine.instrumentation import MAX_FUNCTIONS, OTHERS, QueryFigures, name_of

HERE = __name__


def look(_what: object) -> None:
    """Something to name."""


class Look:
    def at(self) -> None:
        """Something to name."""

    def __call__(self) -> None:
        """Something to name."""


def test_a_function_is_named_by_where_it_stands() -> None:
    assert name_of(look) == f"{HERE}.look"
    assert name_of(partial(partial(look, 1))) == f"{HERE}.look"
    assert name_of(Look().at) == f"{HERE}.Look.at"
    assert name_of(Look()) == f"{HERE}.Look"
    assert name_of(lambda: None) == f"{HERE}.test_a_function_is_named_by_where_it_stands.<lambda>"


def test_runs_of_a_function_add_up_and_the_costliest_comes_first() -> None:
    queries = QueryFigures(slow_ms=100)
    queries.note("read", "cheap", 0.001, 1)
    queries.note("unit", "dear", 0.150, 3)
    queries.note("unit", "dear", 0.050, 9)

    dear, cheap = queries.functions()

    assert (dear.kind, dear.function, dear.runs, dear.statements, dear.most_statements) == ("unit", "dear", 2, 12, 9)
    assert dear.total_s == pytest.approx(0.2)
    assert (dear.longest_s, dear.slow) == (0.150, 1)
    assert (cheap.function, cheap.slow) == ("cheap", 0)


def test_what_is_slow_is_logged_by_name_time_and_statements(caplog: pytest.LogCaptureFixture) -> None:
    queries = QueryFigures(slow_ms=100)

    with caplog.at_level(logging.WARNING, "mcp_agent_mail.store.slow"):
        queries.note("read", "quick", 0.0999, 1)
        queries.note("read", "slow", 0.1, 2)

    (record,) = caplog.records
    assert record.getMessage() == "slow query"
    assert record.__dict__["facts"] == {"kind": "read", "function": "slow", "ms": 100.0, "statements": 2}


def test_functions_are_bounded() -> None:
    queries = QueryFigures(slow_ms=100)
    for number in range(MAX_FUNCTIONS + 10):
        queries.note("read", f"function-{number}", 0.001, 1)

    figures = {one.function: one.runs for one in queries.functions()}

    assert (len(figures), figures[OTHERS]) == (MAX_FUNCTIONS + 1, 10)

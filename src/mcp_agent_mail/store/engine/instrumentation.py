"""What reads and units of work cost: statements, time, and which of them were slow. Kept in memory, bounded."""

from __future__ import annotations

import dataclasses
import logging
import threading
from functools import partial
from typing import Any, Literal

from mcp_agent_mail.core.lazy.dataclass import dataclass

Kind = Literal["read", "unit", "long_read"]

MAX_FUNCTIONS = 500
OTHERS = "others"
"""Stands for all functions beyond the bound."""

_slow_log = logging.getLogger("mcp_agent_mail.store.slow")


@dataclass(slots=True, kw_only=True)
class FunctionFigures:
    """Of one function that reads or writes, since the start. A unit's time is without its wait and its COMMIT."""

    kind: Kind
    function: str
    runs: int = 0
    statements: int = 0
    most_statements: int = 0
    total_s: float = 0.0
    longest_s: float = 0.0
    slow: int = 0


class QueryFigures:
    """The figures of all functions that read or write. May be noted on several threads."""

    def __init__(self, *, slow_ms: float) -> None:
        self.slow_ms = slow_ms
        self._lock = threading.Lock()
        self._figures: dict[tuple[Kind, str], FunctionFigures] = {}

    def note(self, kind: Kind, function: str, took_s: float, statements: int) -> None:
        """A run has ended, well or not. A slow one is logged: the function's name, never a value or a text of SQL."""
        is_slow = took_s * 1_000 >= self.slow_ms
        with self._lock:
            figures = self._require(kind, function)
            figures.runs += 1
            figures.statements += statements
            figures.most_statements = max(figures.most_statements, statements)
            figures.total_s += took_s
            figures.longest_s = max(figures.longest_s, took_s)
            figures.slow += is_slow
        if is_slow:
            facts = {"kind": kind, "function": function, "ms": round(took_s * 1_000, 1), "statements": statements}
            _slow_log.warning("slow query", extra={"facts": facts})

    def functions(self) -> list[FunctionFigures]:
        """Copies, the costliest in all first."""
        with self._lock:
            copies = [dataclasses.replace(figures) for figures in self._figures.values()]
        return sorted(copies, key=lambda figures: (-figures.total_s, figures.kind, figures.function))

    def _require(self, kind: Kind, function: str) -> FunctionFigures:
        if (kind, function) not in self._figures and len(self._figures) >= MAX_FUNCTIONS:
            function = OTHERS
        return self._figures.setdefault((kind, function), FunctionFigures(kind=kind, function=function))


def name_of(function: Any) -> str:  # noqa: ANN401  # whatever can be called
    """Where in the product a function stands, as `features.messaging.service.MessagingService.topic.<lambda>`."""
    while isinstance(function, partial):
        function = function.func
    named = function if hasattr(function, "__qualname__") else type(function)
    module = named.__module__.removeprefix("mcp_agent_mail.")
    return f"{module}.{named.__qualname__}".replace("<locals>.", "")

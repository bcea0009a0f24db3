"""What the clients were told, kept outside the server: the standard every restart is held against."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

Cell = tuple[str, ...]
"""What is known of which object: ("status", "/crash/one", "Side0"). Only one client at a time changes it."""

Value = str | int | bool | None

ANYTHING = "*"
"""A value that only the answer tells: until it comes, whatever is there may be it."""


@dataclass(frozen=True, slots=True)
class Sent:
    """A send or reply that was answered with success. `recipients` are names in the same project, `carried` digests."""

    message_id: int
    project: str
    sender: str
    recipients: tuple[str, ...]
    subject: str
    body: str
    carried: tuple[str, ...] = ()


@dataclass(slots=True)
class Last:
    """The last value that was acknowledged, and those asked for since: each of these may be the case."""

    may_be: list[Value] = field(default_factory=list)
    is_settled: bool = False


@dataclass(slots=True)
class Keyed:
    """A call with an idempotency key. `message_id` is None until it is answered."""

    tool: str
    arguments: dict[str, Any]
    message_id: int | None = None


@dataclass(slots=True)
class Record:
    """Filled by many threads, read when they have ended."""

    sent: list[Sent] = field(default_factory=list)
    read: dict[tuple[str, str, int], str] = field(default_factory=dict)
    acknowledged: dict[tuple[str, str, int], str] = field(default_factory=dict)
    cells: dict[Cell, Last] = field(default_factory=dict)
    keyed: dict[str, Keyed] = field(default_factory=dict)
    answered: Counter[str] = field(default_factory=Counter)
    unexpected: list[str] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add_sent(self, sent: Sent) -> None:
        with self._lock:
            self.sent.append(sent)

    def add_read(self, project: str, agent: str, message_id: int, at: str) -> None:
        with self._lock:
            self.read.setdefault((project, agent, message_id), at)

    def add_acknowledged(self, project: str, agent: str, message_id: int, at: str) -> None:
        with self._lock:
            self.acknowledged.setdefault((project, agent, message_id), at)

    def begin(self, cell: Cell, value: Value) -> None:
        """A call that will make it so is about to be made: from here on it may have happened."""
        with self._lock:
            self.cells.setdefault(cell, Last()).may_be.append(value)

    def settle(self, cell: Cell, value: Value) -> None:
        """The call was answered: from here on it has happened."""
        with self._lock:
            self.cells[cell] = Last([value], is_settled=True)

    def forget(self, is_over: Callable[[Cell, Last], bool]) -> None:
        """What no longer need be so."""
        self.cells = {cell: last for cell, last in self.cells.items() if not is_over(cell, last)}

    def begin_keyed(self, key: str, call: Keyed) -> None:
        with self._lock:
            self.keyed[key] = call

    def count(self, tool: str) -> None:
        with self._lock:
            self.answered[tool] += 1

    def add_unexpected(self, what: str) -> None:
        with self._lock:
            self.unexpected.append(what)

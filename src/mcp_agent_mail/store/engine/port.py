"""What the nouns of the store ask of a database: statements with values, and their rows. They name no engine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeVar

T = TypeVar("T")


class Rows(Protocol):
    """What a statement gave. A row is untyped, hence `Any`: its columns are those of the statement, in that order."""

    @property
    def rowcount(self) -> int:
        """How many rows the statement changed."""

    def fetchone(self) -> Any:  # noqa: ANN401
        """The next row; None after the last."""

    def fetchmany(self, size: int, /) -> list[Any]: ...

    def fetchall(self) -> list[Any]: ...

    def __iter__(self) -> Iterator[Any]: ...

    def close(self) -> None:
        """Let go of the rows that nobody will ask for."""


class Connection(Protocol):
    """A connection amid a transaction that its owner begins and ends: the writer's, a read's or a check's."""

    def execute(self, sql: str, parameters: Any = ..., /) -> Rows:  # noqa: ANN401  # as SQLite's own has it
        """Run one statement, with values in the order of its `?` or by the names of its `:name`. Raises what the engine
        raises; its `faults` tell which are the machine's.
        """

    def executemany(self, sql: str, parameters: Iterable[Any], /) -> Rows:
        """Run one statement with each of these values, in order."""


class TimeBound(Protocol):
    """How long a long read may work."""

    def require(self) -> None:
        """Ask between statements, where more than a moment's work is done there. Raises what ends the read."""

    def asked_often(self) -> AbstractContextManager[None]:
        """Inside, the engine asks at every few steps of a statement: where single ones take long."""


class LongReader(Protocol):
    """What whoever reads for long needs of the store."""

    async def long_read(self, query: Callable[[Connection, TimeBound], T]) -> T: ...

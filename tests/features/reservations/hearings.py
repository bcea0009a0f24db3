"""Callers that leave when they are told to, as the server's requests do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from mcp_agent_mail.core.concurrency.hearing import SentPromise, heard_by


class Deaf:
    """A `Hearing` of calls whose answers are written only with `hear`: until then the caller may `leave`."""

    began_s = 0.0

    def __init__(self) -> None:
        self._watching: list[Callable[[], None]] = []
        self._undo: list[Callable[[], None]] = []

    def listening(self) -> AbstractContextManager[None]:
        """Calls begun within are heard by this one."""
        return heard_by(self)

    @contextmanager
    def watched(self, tell: Callable[[], None]) -> Iterator[None]:
        self._watching.append(tell)
        try:
            yield
        finally:
            self._watching.remove(tell)

    def unless_heard(self, undo: Callable[[], None]) -> None:
        self._undo.append(undo)

    def once_sent(self, promise: SentPromise) -> None:
        raise NotImplementedError

    def leave(self) -> None:
        for tell in self._watching:
            tell()
        undo, self._undo = self._undo, []
        for one in undo:
            one()

    def hear(self) -> None:
        self._undo.clear()

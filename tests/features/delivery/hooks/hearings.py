"""When a call was heard, as a history wants it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from mcp_agent_mail.core.concurrency.hearing import SentPromise


@dataclass(frozen=True, slots=True)
class Heard:
    """A call whose first byte came at `began_s`."""

    began_s: float

    @contextmanager
    def watched(self, tell: Callable[[], None]) -> Iterator[None]:  # noqa: ARG002  # nobody leaves
        yield

    def unless_heard(self, undo: Callable[[], None]) -> None:
        pass

    def once_sent(self, promise: SentPromise) -> None:
        pass

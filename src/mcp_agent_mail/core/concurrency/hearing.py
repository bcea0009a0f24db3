"""Whether whoever called is still there to hear the answer.

Most calls need not know: what they did stands, heard or not. What holds something back from others (a place in a
line, a lease) is of use only to a caller that knows of it. The server sets a `Hearing` for each request; a call
from anywhere else (the command line in process, a test) is always heard.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import Protocol


class Hearing(Protocol):
    """Whether the caller of one call is still there. For use on the event loop."""

    def watched(self, tell: Callable[[], None]) -> AbstractContextManager[object]:
        """Within, `tell` is called once if the caller leaves. Only who waits watches: it costs a task."""

    def unless_heard(self, undo: Callable[[], None]) -> None:
        """Call `undo` if the answer cannot be written; whatever is not known to be lost counts as heard."""


class _AlwaysHeard:
    def watched(self, tell: Callable[[], None]) -> AbstractContextManager[object]:  # noqa: ARG002  # nobody leaves
        return nullcontext()

    def unless_heard(self, undo: Callable[[], None]) -> None:
        pass


_hearing: ContextVar[Hearing] = ContextVar("hearing", default=_AlwaysHeard())  # noqa: B039  # it has no state


def current_hearing() -> Hearing:
    """The hearing of the call that is running."""
    return _hearing.get()


@contextmanager
def heard_by(hearing: Hearing) -> Iterator[None]:
    """Within, `current_hearing` is this one."""
    reset = _hearing.set(hearing)
    try:
        yield
    finally:
        _hearing.reset(reset)

"""Whether whoever called is still there to hear the answer.

Most calls need not know: what they did stands, heard or not. What holds something back from others (a place in a
line, a lease) is of use only to a caller that knows of it, and what was handed over is so once it was sent. The server
sets a `Hearing` for each request; a call from anywhere else (the command line in process, a test) is always heard, and
nothing of it is known to be sent.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import Protocol


class Hearing(Protocol):
    """Whether the caller of one call is still there. For use on the event loop.

    `began_s`: when the first byte of the call came, by `time.monotonic`.
    """

    @property
    def began_s(self) -> float: ...

    def watched(self, tell: Callable[[], None]) -> AbstractContextManager[object]:
        """Within, `tell` is called once if the caller leaves. Only who waits watches: it costs a task."""

    def unless_heard(self, undo: Callable[[], None]) -> None:
        """Call `undo` if the answer cannot be written; whatever is not known to be lost counts as heard."""

    def once_sent(self, sent: Callable[[], None], read: Callable[[], None], unread: Callable[[], None]) -> None:
        """Call `sent` once the whole answer has left the process: never for an answer that was cut, nor for an error.
        After it each of the others is called at most once: `read` when its client went on as one that has read all of
        it, `unread` if it has left without, also after `read` where that is found out only then.
        """


class _AlwaysHeard:
    began_s = -math.inf

    def watched(self, tell: Callable[[], None]) -> AbstractContextManager[object]:  # noqa: ARG002  # nobody leaves
        return nullcontext()

    def unless_heard(self, undo: Callable[[], None]) -> None:
        pass

    def once_sent(self, sent: Callable[[], None], read: Callable[[], None], unread: Callable[[], None]) -> None:
        pass


_hearing: ContextVar[Hearing] = ContextVar("hearing", default=_AlwaysHeard())  # noqa: B039  # it has no state


def current_hearing() -> Hearing:
    """The hearing of the call that is running."""
    return _hearing.get()


@contextmanager
def heard_by(hearing: Hearing) -> Iterator[None]:
    """Inside, `hearing` is what `current_hearing` gives."""
    reset = _hearing.set(hearing)
    try:
        yield
    finally:
        _hearing.reset(reset)

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

from mcp_agent_mail.core.lazy.dataclass import dataclass


def _nothing() -> None:
    pass


@dataclass(frozen=True, slots=True)
class SentPromise:
    """What is called when an answer has left the process as a whole: `sent`, or `cut` where the connection was lost
    with some of it unsent. After `sent` each of the others is called at most once: `read` when its client went on as
    one that has read all of it, `unread` if it has left without, also after `read` where that is found out only then.
    """

    sent: Callable[[], None]
    read: Callable[[], None] = _nothing
    unread: Callable[[], None] = _nothing
    cut: Callable[[], None] = _nothing


class Hearing(Protocol):
    """Whether the caller of one call is still there. For use on the event loop.

    `began_s`: when the first byte of the call came, by `time.monotonic`.
    """

    @property
    def began_s(self) -> float: ...

    def watched(self, tell: Callable[[], None]) -> AbstractContextManager[object]:
        """Within, `tell` is called once if the caller leaves. Only who waits watches: it costs a task."""

    def unless_heard(self, undo: Callable[[], None]) -> None:
        """Call `undo` if the answer cannot be written, or is an error; whatever is not known to be lost counts as
        heard. Of one that was begun to be written `once_sent` tells more.
        """

    def once_sent(self, promise: SentPromise) -> None:
        """Keep the promise once the whole answer has left the process: never for an error."""


class _AlwaysHeard:
    began_s = -math.inf

    def watched(self, tell: Callable[[], None]) -> AbstractContextManager[object]:  # noqa: ARG002  # nobody leaves
        return nullcontext()

    def unless_heard(self, undo: Callable[[], None]) -> None:
        pass

    def once_sent(self, promise: SentPromise) -> None:
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

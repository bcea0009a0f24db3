"""The place that a call at work takes up, and what gives it to others: a call that waits for mail or for leases.

The server sets one for each call it runs; a call from anywhere else (the command line in process, a test) has none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_give_up: ContextVar[Callable[[], None]] = ContextVar("give_up_place", default=lambda: None)


@contextmanager
def working_at(give_up: Callable[[], None]) -> Iterator[None]:
    """Inside, `give_up` is what `give_up_place` calls."""
    reset = _give_up.set(give_up)
    try:
        yield
    finally:
        _give_up.reset(reset)


def give_up_place() -> None:
    """The call that is running waits from now on, in a place among those who wait: its place at work is another's, and
    it needs none for the rest of what it does. A repeat does nothing more.
    """
    _give_up.get()()

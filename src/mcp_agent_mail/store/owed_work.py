"""What has to be stored though nobody waits for it: it is kept, in order, and tried again until the store takes it.

An answer that was written or lost has an outcome (a message is read, or is the next one's again; a lease is taken
back). Where the store fails at that moment nobody is left who could ask again, so that this does. Whatever fails by
its own fault is logged and dropped: it would fail for ever, and hold up what stands behind it.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections.abc import Callable
from functools import partial
from itertools import islice
from typing import Any

from mcp_agent_mail.core.errors import in_sentences
from mcp_agent_mail.store.engine.growth_limit import DiskTooFull, StoreTooLarge
from mcp_agent_mail.store.engine.sqlite.faults import StoreFailed, is_outside_fault
from mcp_agent_mail.store.transaction import Tx

MAX_OPEN = 10_000
"""Beyond it, writes that may owe an outcome are refused. Those under way come on top: as many as there are calls, and
messages given to callers that settle by themselves, which have bounds of their own. To drop the oldest instead would
lose what this is here to keep."""
FIRST_PAUSE_S = 0.1
LAST_PAUSE_S = 5.0
MAX_OWN_FAULTS = 5
"""So often in a row the first of them may end its whole transaction by what is no fault of the disk or a lock."""
_SHOWN = 5

Run = Callable[[Callable[[Tx], Any]], "asyncio.Future[Any]"]  # Any: a unit's result, whatever it is

_log = logging.getLogger(__name__)


class _Postponed(Exception):
    """One before it could not be stored: this one keeps its place behind it."""


class _Obligation:
    __slots__ = ("context", "own_faults", "stored", "unit")

    def __init__(self, unit: Callable[[Tx], Any], stored: Callable[[Any], None] | None) -> None:
        self.unit = unit
        self.stored = stored
        self.context = contextvars.copy_context()
        self.own_faults = 0

    @property
    def name(self) -> str:
        return getattr(self.unit, "__qualname__", None) or repr(self.unit)


class Obligations:
    """`run` queues a unit of the writer's. All is for the event loop, but for what says that it is on the writer's
    thread.
    """

    def __init__(self, run: Run, *, max_open: int = MAX_OPEN) -> None:
        self._run = run
        self._max_open = max_open
        self._open: dict[_Obligation, None] = {}
        """In the order in which they came."""
        self._under_way = 0
        self._is_waiting = False
        """The first could not be stored: nothing else is tried until it is."""
        self._is_held = False
        """The same, as the writer's thread knows it: what is queued behind one that failed is not run before it."""
        self._is_ending = False
        self._is_over = False
        self._why = ""
        self._pause_s = FIRST_PAUSE_S
        self._timer: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._open)

    @property
    def is_full(self) -> bool:
        return len(self._open) >= self._max_open

    @property
    def problem(self) -> str | None:
        """What health says while some could not be stored; None otherwise."""
        if not self._is_waiting or not self._open:
            return None
        return in_sentences(
            f"{len(self._open)} outcomes of answers wait until the store takes them: {self._why.rstrip('.')}.",
            "They are tried again every few seconds.",
        )

    def add(self, unit: Callable[[Tx], Any], stored: Callable[[Any], None] | None) -> None:
        """Keep the unit until it is stored; then `stored` is called with its result."""
        one = _Obligation(unit, stored)
        self._open[one] = None
        if not self._is_waiting:
            self._try(one)

    def group_failed(self) -> None:
        """On the writer's thread: a transaction in which one of them stood has not happened."""
        self._is_held = True

    def try_for_the_last_time(self) -> None:
        """The first now, and the others once it is stored. Nothing is tried again after that."""
        self._is_ending = True
        if self._timer is not None:
            self._timer.cancel()
            self._try_first()

    def end(self) -> None:
        """The thread that writes has ended: what is owed stays so, and is not tried again."""
        self._is_ending = self._is_over = True
        if self._timer is not None:
            self._timer.cancel()

    def drop(self) -> None:
        """The writer is closed: say what was never stored."""
        self.end()
        if self._open:
            names = ", ".join(one.name for one in islice(self._open, _SHOWN))
            _log.error("%d outcomes of answers were never stored (%s …): %s", len(self._open), names, self._why)
            self._open.clear()

    def _try(self, one: _Obligation) -> None:
        self._under_way += 1
        future = one.context.run(self._run, partial(self._run_unit, one))
        future.add_done_callback(partial(self._tried, one))

    def _run_unit(self, one: _Obligation, tx: Tx) -> object:
        """On the writer's thread."""
        if self._is_held:
            raise _Postponed
        try:
            return one.unit(tx)
        except Exception as error:
            self._is_held = _is_of_the_store(error)
            raise

    def _tried(self, one: _Obligation, done: asyncio.Future[Any]) -> None:
        self._under_way -= 1
        error = done.exception()
        is_kept = error is not None and self._keeps(one, error)
        if not is_kept:
            self._open.pop(one, None)
        if not self._under_way:
            self._go_on(is_kept=is_kept)
        if error is None and one.stored is not None:
            one.stored(done.result())

    def _keeps(self, one: _Obligation, error: BaseException) -> bool:
        if isinstance(error, _Postponed):
            return True
        if not self._is_over and not self._is_to_be_kept(one, error):
            _log.error("What is owed failed by its own fault and is dropped (%s): %r", one.name, error, exc_info=error)
            return False
        if not self._is_waiting:
            _log.warning("What is owed could not be stored (%s), and is tried again: %s", one.name, error)
        self._is_waiting, self._why = True, str(error)
        return True

    def _is_to_be_kept(self, one: _Obligation, error: BaseException) -> bool:
        if not _is_of_the_store(error):
            return False
        cause = error.__cause__
        is_outside = isinstance(cause, StoreFailed) or is_outside_fault(cause)
        is_own_fault = cause is not None and not is_outside
        # It may have been a neighbour's of the same transaction: it is not one's for ever.
        one.own_faults = one.own_faults + 1 if is_own_fault and self._under_way == 0 else 0
        return one.own_faults < MAX_OWN_FAULTS

    def _go_on(self, *, is_kept: bool) -> None:
        """None of them is with the writer; the last that was is kept, or not: stored, or dropped."""
        if is_kept:
            if not self._is_ending:
                self._timer = asyncio.get_running_loop().call_later(self._pause_s, self._try_first)
                self._pause_s = min(2 * self._pause_s, LAST_PAUSE_S)
        elif self._is_waiting:
            self._is_waiting = self._is_held = False
            self._pause_s = FIRST_PAUSE_S
            for one in list(self._open):
                self._try(one)

    def _try_first(self) -> None:
        """Alone, so that a store that goes on failing is asked once. None that was held back is queued any more."""
        self._timer = None
        self._is_held = False
        self._try(next(iter(self._open)))


def _is_of_the_store(error: BaseException) -> bool:
    """Whether it may be stored later as it is: the disk, a lock, want of memory or of room."""
    return is_outside_fault(error) or isinstance(error, (StoreFailed, MemoryError, DiskTooFull, StoreTooLarge))

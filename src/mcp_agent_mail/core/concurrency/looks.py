"""Looks at directories that are not ours: on bounded threads of their own, with a time limit, and none is waited for.

Below a dead network mount `stat` never returns, and nothing can end the thread that asked. So each
directory has one thread at a time, a few work at once, and one that is late is given up as lost: its
place goes to the next, its directory counts as silent and is refused at once until it may be tried
again. The threads are daemons: neither a stop nor the end of the process waits for one.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
import queue
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import field
from typing import Any, TypeVar

from mcp_agent_mail.core.concurrency.future_error import future_error
from mcp_agent_mail.core.errors import Busy, Unavailable
from mcp_agent_mail.core.lazy.dataclass import dataclass

T = TypeVar("T")

THREADS = 8
WITHIN_S = 5.0
WAITS = 3
"""A look waits for a thread for so many times what it may take: with eight that hang before it, it gets one in time."""
MAX_WAITING = 200
LOST_OF_ONE = 4
"""Threads that one directory may cost: the one that hangs, and some that find out whether a new mount answers."""
LOST_OF_STRANGERS = 32
LOST_AT_MOST = 64
"""So many threads may hang in all; half of them are kept for directories that have answered before."""
FIRST_SILENCE_S = 10.0
SILENCE_GROWS = 4
LAST_SILENCE_S = 300.0
ANSWERED_REMEMBERED = 1_000

_log = logging.getLogger("mcp_agent_mail.looks")


class DirectorySilent(Unavailable):
    """A look at the directory did not end in time: its disk, or network mount, hangs."""


class LookSilent(Unavailable):
    """What a look raises that has ended itself, for want of an answer within its own limit. No thread is lost by it;
    for the rest it is as one that hangs.
    """


class TooManyLooks(Busy):
    """Many callers ask for directories that have not been looked at yet, or no thread can be had for one."""


class LooksClosed(Unavailable):
    """The server is stopping."""


@dataclass(eq=False, slots=True)
class _Directory:
    path: str
    at_work: _Look | None = None
    lost: int = 0
    """Threads that hang there now."""
    unanswered: int = 0
    """Looks that were lost since it answered last."""
    silent_until: float = 0.0
    silence_s: float = 0.0
    why: str = ""
    """What a look said that has ended itself; empty where it hangs."""


@dataclass(eq=False, slots=True, kw_only=True)
class _Look:
    directory: _Directory
    work: Callable[[], Any]
    context: contextvars.Context
    answer: asyncio.Future[Any]
    within_s: float
    timer: asyncio.TimerHandle = field(init=False)
    is_lost: bool = False


class Looks:
    """For use on one event loop. `threads` work at once; a directory has one of them.

    `subject` is what the log calls whatever is looked at by its path or name, with the article that goes before it.
    """

    def __init__(
        self,
        *,
        threads: int = THREADS,
        within_s: float = WITHIN_S,
        subject: str = "a directory",
        elapsed: Callable[[], float] = time.monotonic,
    ) -> None:
        self._threads = threads
        self._within_s = within_s
        self._subject = subject
        self._elapsed = elapsed
        self._directories: dict[str, _Directory] = {}
        self._answered: OrderedDict[str, None] = OrderedDict()
        self._waiting: list[_Look] = []
        self._at_work: set[_Look] = set()
        self._idle: list[_Thread] = []
        self._lost = 0
        self._is_closed = False

    def silent(self) -> int:
        """How many directories do not answer just now."""
        now = self._elapsed()
        return sum(one.unanswered > 0 or now < one.silent_until for one in self._directories.values())

    def lost_threads(self) -> int:
        return self._lost

    async def look(self, path: str, work: Callable[[], T], *, within_s: float | None = None) -> T:
        """What `work` finds at the directory `path`, on a thread. Raises what it raises, DirectorySilent, TooManyLooks.

        It begins within three times `within_s` and ends within `within_s`, or the caller is told that it has not.
        """
        self._require_room(path)
        directory = self._directories.setdefault(path, _Directory(path))
        self._require_answering(directory)
        loop = asyncio.get_running_loop()
        look = _Look(
            directory=directory,
            work=work,
            context=contextvars.copy_context(),
            answer=loop.create_future(),
            within_s=self._within_s if within_s is None else within_s,
        )
        look.timer = loop.call_later(WAITS * look.within_s, self._give_up, look)
        self._waiting.append(look)
        self._begin()
        try:
            found: T = await look.answer
        finally:
            self._leave(look)
        return found

    def close(self) -> None:
        """Whoever waits is told that the server stops. No thread is waited for."""
        self._is_closed = True
        for look in [*self._waiting, *self._at_work]:
            look.timer.cancel()
            _answer(look, error=_stopping())
        self._waiting.clear()
        for thread in self._idle:
            thread.end()
        self._idle.clear()

    def _require_room(self, path: str) -> None:
        if self._is_closed:
            raise _stopping()
        if len(self._waiting) >= MAX_WAITING:
            raise _too_many()
        is_known = path in self._answered or path in self._directories
        if self._lost >= LOST_AT_MOST or (self._lost >= LOST_OF_STRANGERS and not is_known):
            raise TooManyLooks(
                f"{self.silent()} directories hang; {path:.300} is not looked at before they answer.",
                first="Find what they lie on (`ls` hangs there too) and mend or unmount it, then restart the server.",
                retry_after_s=int(LAST_SILENCE_S),
            )

    def _require_answering(self, directory: _Directory) -> None:
        count = directory.unanswered
        if count >= LOST_OF_ONE or self._elapsed() < directory.silent_until:
            raise self._silent(directory)

    def _silent(self, directory: _Directory) -> DirectorySilent:
        what = directory.why or f"{directory.path:.300} does not answer: its disk or network mount hangs."
        if directory.unanswered >= LOST_OF_ONE:
            return DirectorySilent(
                what,
                hint="Nothing else is affected. It is looked at again once an earlier look comes back, or after a "
                "restart of the server.",
                data={"directory": directory.path},
            )
        left_s = max(1, round(directory.silent_until - self._elapsed()))
        return DirectorySilent(
            what,
            hint=f"See whether `{'git log' if directory.why else 'ls'}` answers there; nothing else is affected. It is "
            f"looked at again in {left_s} s.",
            data={"directory": directory.path, "retry_after_s": left_s},
        )

    def _begin(self) -> None:
        """Give threads to those who wait, in their order, as far as there are any."""
        for look in list(self._waiting):
            if len(self._at_work) >= self._threads:
                return
            if look.directory.at_work is None:
                self._waiting.remove(look)
                self._start(look)

    def _start(self, look: _Look) -> None:
        look.timer.cancel()
        try:
            thread = self._idle.pop() if self._idle else _Thread(self._end)
        except RuntimeError:  # The system gives no more threads: that says nothing about the directory.
            _answer(look, error=_no_thread())
            return
        look.timer = look.answer.get_loop().call_later(look.within_s, self._lose, look)
        look.directory.at_work = look
        self._at_work.add(look)
        thread.give(look)

    def _give_up(self, look: _Look) -> None:
        """Its time is over before a thread was free."""
        _answer(look, error=_too_many())

    def _lose(self, look: _Look) -> None:
        """Its thread hangs, and may do so for ever."""
        directory = look.directory
        look.is_lost = True
        self._at_work.discard(look)
        self._lost += 1
        directory.at_work = None
        directory.lost += 1
        directory.unanswered += 1
        directory.why = ""
        self._silence(directory)
        _answer(look, error=self._silent(directory))
        self._leave(look)
        self._begin()

    def _silence(self, directory: _Directory) -> None:
        """Nobody waits for it from now on, and nobody asks it for a while."""
        directory.silence_s = min(max(SILENCE_GROWS * directory.silence_s, FIRST_SILENCE_S), LAST_SILENCE_S)
        directory.silent_until = self._elapsed() + directory.silence_s
        self._answered.pop(directory.path, None)
        self._log(logging.WARNING, "does not answer", directory, lost_threads=self._lost)
        for other in [other for other in self._waiting if other.directory is directory]:
            _answer(other, error=self._silent(directory))
            self._leave(other)

    def _end(self, thread: _Thread, look: _Look, result: object, error: Exception | None) -> None:
        """On the loop: its thread is back, in time or not."""
        look.timer.cancel()
        directory = look.directory
        if look.is_lost:
            self._lost -= 1
            directory.lost -= 1
            self._log(logging.INFO, "answers again", directory)
            thread.end()
        else:
            self._at_work.discard(look)
            directory.at_work = None
            thread.end() if self._is_closed else self._idle.append(thread)
        if isinstance(error, LookSilent):
            directory.why = error.message
            self._silence(directory)
        else:
            # Whatever still hangs there was asked of what is there no more: a mount was taken away and made anew.
            directory.unanswered = 0
            directory.silent_until = directory.silence_s = 0.0
            self._remember(directory)
        _answer(look, result=result, error=error)
        self._begin()
        self._forget(directory)

    def _log(self, level: int, says: str, directory: _Directory, **facts: object) -> None:
        name = self._subject.split()[-1]
        _log.log(level, "%s %s", self._subject, says, extra={"facts": {name: directory.path, **facts}})

    def _remember(self, directory: _Directory) -> None:
        self._answered[directory.path] = None
        self._answered.move_to_end(directory.path)
        while len(self._answered) > ANSWERED_REMEMBERED:
            self._answered.popitem(last=False)

    def _leave(self, look: _Look) -> None:
        """Answered, or its caller has gone. A thread at work for it goes on, and is watched."""
        if look in self._waiting:
            self._waiting.remove(look)
            look.timer.cancel()
        self._forget(look.directory)

    def _forget(self, directory: _Directory) -> None:
        is_wanted = directory.at_work is not None or any(look.directory is directory for look in self._waiting)
        # Whoever leaves late may hold what is forgotten already: the path may have a new one, with a thread at work.
        is_kept = is_wanted or directory.lost or self._elapsed() < directory.silent_until
        if not is_kept and self._directories.get(directory.path) is directory:
            del self._directories[directory.path]


class _Thread:
    """A daemon that does one look after another. `told` is called on the loop when one has ended."""

    def __init__(self, told: Callable[[_Thread, _Look, object, Exception | None], None]) -> None:
        self._told = told
        self._given: queue.SimpleQueue[_Look | None] = queue.SimpleQueue()
        threading.Thread(target=self._run, name="looks", daemon=True).start()

    def give(self, look: _Look) -> None:
        self._given.put(look)

    def end(self) -> None:
        self._given.put(None)

    def _run(self) -> None:
        while (look := self._given.get()) is not None:
            result, error = _outcome(look)
            # The loop may have been closed meanwhile: then nobody waits.
            with suppress(RuntimeError):
                look.answer.get_loop().call_soon_threadsafe(self._told, self, look, result, error)
            del look, result, error


def _outcome(look: _Look) -> tuple[object, Exception | None]:
    """What a future can carry."""
    try:
        return look.context.run(look.work), None
    except BaseException as raised:  # noqa: BLE001  # It is raised where the look is awaited.
        return None, future_error(raised, "a look")


def _answer(look: _Look, *, result: object = None, error: Exception | None = None) -> None:
    if look.answer.done():
        return
    if error is None:
        look.answer.set_result(result)
    else:
        look.answer.set_exception(error)


def _too_many() -> TooManyLooks:
    return TooManyLooks("Too many directories are being looked at.")


def _no_thread() -> TooManyLooks:
    return TooManyLooks("The system lets no more threads begin, so no directory can be looked at.")


def _stopping() -> LooksClosed:
    return LooksClosed("The server is stopping.", hint="Call again when it is back.")

"""What tools of other packages leave behind: calls that were told to end and go on, and threads that cannot be told,
which are told apart from those in which the server's own work is done.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any, ParamSpec, TypeVar

from mcp_agent_mail.core.errors import Unavailable

MAX_LEFT = 16
"""Calls of one tool that were told to end and have not, before it takes no more."""
MAX_THREADS = 16
"""For the tools of all packages together."""
MAX_HANDED = 1_000
"""What they may have handed to threads and is not done: one call could hand over any number."""
_RUNNING: ContextVar[str | None] = ContextVar("running_custom_tool", default=None)

# `Any` for results of whatever threads were handed.
P = ParamSpec("P")
R = TypeVar("R")


class CustomToolUnfinished(Unavailable):
    """A tool of another package did not come to an end."""


class LeftCalls:
    """Calls that nobody waits for any more, of at most MAX_LEFT a tool. They are awaited when the server stops."""

    def __init__(self) -> None:
        self._calls: dict[asyncio.Task[object], str] = {}

    def require_room(self, name: str) -> None:
        """Raises CustomToolUnfinished where too many calls of this tool go on."""
        if list(self._calls.values()).count(name) >= MAX_LEFT:
            raise CustomToolUnfinished(
                f"{MAX_LEFT} calls of {name} were told to stop and have not ended.",
                hint="Ask whoever wrote it: it has to end when it is cancelled. A restart of the server ends them.",
                data={"left": MAX_LEFT},
            )

    def leave(self, call: asyncio.Task[object], name: str) -> None:
        """Tell a call to end, and keep it until it has."""
        self._calls[call] = name
        call.add_done_callback(self._ended)
        call.cancel()

    async def settle(self, timeout_s: float) -> list[str]:
        """Wait for them; gives the names of the tools that still go on, each once, in order."""
        if self._calls:
            await asyncio.wait(list(self._calls), timeout=timeout_s)
        return self.names()

    def names(self) -> list[str]:
        return sorted(set(self._calls.values()))

    def _ended(self, call: asyncio.Task[object]) -> None:
        self._calls.pop(call, None)
        if not call.cancelled():
            call.exception()  # Nobody is told of it: else the log would say that nobody has asked.


@contextmanager
def running_tool(name: str) -> Iterator[None]:
    """Inside, what is handed to a thread counts as this tool's."""
    before = _RUNNING.set(name)
    try:
        yield
    finally:
        _RUNNING.reset(before)


def _ended(work: Callable[[], R]) -> R:
    """As Python does for coroutines: no future takes a StopIteration, and whoever awaited one would wait on."""
    try:
        return work()
    except StopIteration as stopped:
        raise RuntimeError("work in a thread raised StopIteration") from stopped


class LoopThreads(ThreadPoolExecutor):
    """All that the event loop of a server's own process hands to threads (`asyncio.to_thread`). The server's own work
    is done in these; what a tool of another package hands over, in a pool beside them, since it could fill them, and it
    is known whose it is.

    What the server hands over waits in a queue without a bound of its own: each call and each keeper awaits what it has
    handed over, and calls are bounded (HTTP_MAX_CALLS). Of tools' work MAX_HANDED are taken.
    """

    def __init__(self) -> None:
        super().__init__(thread_name_prefix="server")
        self._tools = ThreadPoolExecutor(MAX_THREADS, thread_name_prefix="custom-tools")
        self._at_work: dict[Future[Any], str] = {}

    def submit(self, fn: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Future[R]:
        """As ever; what comes of a tool's call goes to the threads of tools, and waits there while they are taken.
        Raises CustomToolUnfinished where too much waits.
        """
        name = _RUNNING.get()
        if name is None:
            return super().submit(fn, *args, **kwargs)
        if len(self._at_work) >= MAX_HANDED:
            raise CustomToolUnfinished(
                f"Tools of other packages have handed {MAX_HANDED} pieces of work to threads, and they are not done.",
                hint="Try again later; whoever wrote the tools should hand over less at a time.",
                data={"handed": MAX_HANDED},
            )
        work = self._tools.submit(_ended, partial(fn, *args, **kwargs))
        self._at_work[work] = name
        work.add_done_callback(self._done)
        return work

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self._tools.shutdown(wait=wait, cancel_futures=cancel_futures)
        super().shutdown(wait=wait, cancel_futures=cancel_futures)

    def at_work(self) -> dict[Future[Any], str]:
        """What tools have handed to threads and is not done, with the name of the tool."""
        return dict(self._at_work)

    def _done(self, work: Future[Any]) -> None:
        self._at_work.pop(work, None)

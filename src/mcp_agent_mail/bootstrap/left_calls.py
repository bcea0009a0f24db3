"""What tools of other packages leave behind: calls that were told to end and go on, and threads that cannot be told."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, ParamSpec, TypeVar

from mcp_agent_mail.core.errors import Unavailable

MAX_LEFT = 16
"""Calls of one tool that were told to end and have not, before it takes no more."""
MAX_THREADS = 16
"""For the tools of all packages together."""
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


class ToolThreads(ThreadPoolExecutor):
    """For the event loop of a server's own process: what a tool of another package hands to a thread
    (`asyncio.to_thread`) gets one of a pool beside the server's, which it could fill, and it is known whose it is.
    """

    def __init__(self) -> None:
        super().__init__(thread_name_prefix="server")
        self._tools = ThreadPoolExecutor(MAX_THREADS, thread_name_prefix="custom-tools")
        self._at_work: dict[Future[Any], str] = {}

    def submit(self, fn: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Future[R]:
        """As ever; what comes of a tool's call goes to the threads of tools, and waits there while they are taken."""
        name = _RUNNING.get()
        if name is None:
            return super().submit(fn, *args, **kwargs)
        work = self._tools.submit(fn, *args, **kwargs)
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

"""The end of a server's own process, which nothing that was left behind keeps for long: tools of other packages may
work in threads, which nobody can end, or not let themselves be cancelled.

Only for a process that is the server's alone: it may end at once, without what Python does at the end of others.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Coroutine, Iterator
from concurrent.futures import wait
from contextlib import contextmanager

import uvloop

from mcp_agent_mail.bootstrap.left_calls import LoopThreads
from mcp_agent_mail.core.errors import listed
from mcp_agent_mail.core.standard_streams import say_last

END_WITHIN_S = 1.0
"""For each of two: what still runs when all is closed, and the threads that Python waits for at the end."""
_FAILED = 1
_SIGNALS = (signal.SIGTERM, signal.SIGINT)
_log = logging.getLogger("mcp_agent_mail.server")


class ProcessEnd:
    """Runs the server's event loop, and knows what has not ended with it. `code` is the process's exit code."""

    def __init__(self) -> None:
        self.code = 0
        self.left_behind: list[str] = []
        self._threads = LoopThreads()
        self._before = set(threading.enumerate())

    def run(self, serving: Coroutine[object, object, None]) -> None:
        """Until `serving` has ended, and closed what it opened. Raises what it raises."""
        runner = asyncio.Runner(loop_factory=uvloop.new_event_loop)
        runner.get_loop().set_default_executor(self._threads)
        try:
            runner.run(_ended_by_signals(serving))
        finally:
            self.left_behind = runner.run(self._find_left())
            if self.left_behind:
                # Nor is the loop closed: that would wait for them.
                _log.error(
                    "The store is closed. Left behind, and ended with the process: %s.", listed(self.left_behind, "and")
                )
            else:
                runner.close()

    def end(self) -> None:
        """End the process at once where something was left behind, and in a moment where other threads keep it."""
        if self.left_behind:
            _end_at_once(self.code)
        if self._others():
            threading.Thread(target=self._end_soon, name="process-end", daemon=True).start()

    async def _find_left(self) -> list[str]:
        """The names of tasks and of tools with threads that do not end, each once, in order."""
        until = time.monotonic() + END_WITHIN_S
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        going_on = (await asyncio.wait(tasks, timeout=END_WITHIN_S))[1] if tasks else set()
        work = self._threads.at_work()
        at_work = wait(work, timeout=max(0.0, until - time.monotonic())).not_done
        in_threads = {f"custom tool {work[one]} in a thread" for one in at_work}
        return sorted({task.get_name() for task in going_on} | in_threads)

    def _others(self) -> list[str]:
        """Threads that Python would wait for."""
        new = set(threading.enumerate()) - self._before
        return sorted(one.name for one in new if not one.daemon and one.is_alive())

    def _end_soon(self) -> None:
        """Python's own end asks idle pools of threads to end; whoever works on has had its time."""
        time.sleep(END_WITHIN_S)
        if others := self._others():
            say_last(f"Threads left behind, and ended with the process: {listed(others, 'and')}.\n")
            _end_at_once(self.code)


async def _ended_by_signals(serving: Coroutine[object, object, None]) -> None:
    """SIGTERM or SIGINT before requests are answered undoes what the start has opened, and ends in silence. The server
    that answers takes the signals over, and what follows it has the default handling.
    """
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None
    told: list[bool] = []

    def end() -> None:
        told.append(task.cancel())

    for number in _SIGNALS:
        loop.add_signal_handler(number, end)
    try:
        await serving
    except asyncio.CancelledError:
        if not told or task.uncancel():
            raise
    finally:
        for number in _SIGNALS:
            loop.remove_signal_handler(number)


@contextmanager
def process_end() -> Iterator[ProcessEnd]:
    """Around all that a server's process does; an exception is let through where nothing was left behind."""
    end = ProcessEnd()
    try:
        yield end
    except BaseException:
        end.code = _FAILED
        if end.left_behind:
            say_last(traceback.format_exc())
        raise
    finally:
        end.end()


def _end_at_once(code: int) -> None:
    sys.stdout.flush()
    os._exit(code)

"""What ends running code from outside of it, told apart from what the code raised of itself.

`CancelledError` and `GeneratorExit` are what asyncio and Python throw into code that is to end. Code that raises them
of itself fails as by any other error; let through, they end whatever awaits it.
"""

from __future__ import annotations

import asyncio
from typing import Any


def running_task() -> asyncio.Task[Any] | None:  # Any: whatever it gives
    """The task that runs; None where no event loop does."""
    try:
        return asyncio.current_task()
    except RuntimeError:
        return None


def is_from_outside(end: BaseException, task: asyncio.Task[Any] | None) -> bool:  # Any: whatever it gives
    """Whether `end`, which came out of what `task` awaits, has ended it from outside: the task was cancelled, or its
    coroutine closed. Without a task that cannot be known, and counts as so.
    """
    if isinstance(end, Exception):
        return False
    # A coroutine that is thrown away is closed by somebody else: its task takes no step.
    return task is None or task.cancelling() > 0 or (isinstance(end, GeneratorExit) and running_task() is not task)

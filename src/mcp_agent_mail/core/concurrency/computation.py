"""Work of the processor alone, beside the event loop.

Not in the default executor, which everybody shares and a stop joins. The threads have no bound of their
own: whoever computes has a place (`core/concurrency/turns.py`, a long read), and keeps it for as long as its thread
works, also when its caller has gone.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

T = TypeVar("T")


async def computed(work: Callable[[], T]) -> T:
    """What `work` gives or raises, on a daemon thread. Its bound is its own: nothing can end it.

    Cancelled, it leaves when the thread has ended, so that no place is free too early; cancelled again, at once.
    """
    loop = asyncio.get_running_loop()
    context = contextvars.copy_context()
    done: asyncio.Future[tuple[T | None, BaseException | None]] = loop.create_future()

    def run() -> None:
        outcome: tuple[T | None, BaseException | None]
        try:
            outcome = (context.run(work), None)
        except BaseException as raised:  # noqa: BLE001  # It is raised where it is awaited.
            outcome = (None, raised)
        # The loop may have been closed meanwhile: then nobody waits.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(done.set_result, outcome)

    threading.Thread(target=run, name="computing", daemon=True).start()
    try:
        result, error = await asyncio.shield(done)
    except asyncio.CancelledError:
        await asyncio.wait([done])
        raise
    if error is not None:
        raise error
    return result  # type: ignore[return-value]  # without an error it is what `work` gave

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from contextvars import ContextVar

import pytest

from mcp_agent_mail.core.concurrency.computation import computed

asked_by: ContextVar[str] = ContextVar("asked_by", default="nobody")
WITHIN_S = 30.0
"""For a thread that is told to end: no test waits for so long unless it fails."""


async def _settled() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_it_gives_what_the_work_gives_from_another_thread() -> None:
    assert await computed(threading.get_ident) != threading.get_ident()


async def test_the_work_sees_the_context_of_its_caller() -> None:
    asked_by.set("caller")

    assert await computed(asked_by.get) == "caller"


@pytest.mark.parametrize("raised", [ValueError("no"), SystemExit(3)])
async def test_it_raises_what_the_work_raises(raised: BaseException) -> None:
    def fail() -> None:
        raise raised

    with pytest.raises(type(raised)):
        await computed(fail)


async def test_a_caller_that_is_cancelled_leaves_when_its_thread_has_ended() -> None:
    may_end = threading.Event()
    asked = asyncio.create_task(computed(lambda: may_end.wait(WITHIN_S)))
    await _settled()

    asked.cancel()
    await _settled()
    left_early = asked.done()
    may_end.set()
    await asyncio.wait([asked])

    assert (left_early, asked.cancelled()) == (False, True)


async def test_a_stop_that_cancels_again_does_not_wait() -> None:
    may_end = threading.Event()
    asked = asyncio.create_task(computed(lambda: may_end.wait(WITHIN_S)))
    await _settled()

    for _ in range(2):
        asked.cancel()
        await _settled()
    left = asked.cancelled()
    may_end.set()

    assert left


def test_the_end_of_the_process_waits_for_no_thread() -> None:
    program = """
import asyncio, threading
from mcp_agent_mail.core.concurrency.computation import computed

async def main():
    asyncio.create_task(computed(threading.Event().wait)).add_done_callback(lambda one: None)
    await asyncio.sleep(0)
    for task in asyncio.all_tasks() - {asyncio.current_task()}:
        task.cancel()
        await asyncio.sleep(0)

asyncio.run(main())
"""
    ended = subprocess.run([sys.executable, "-c", program], check=False, timeout=WITHIN_S)

    assert ended.returncode == 0

"""Attachments are made ready beside the event loop, so many at a time."""

from __future__ import annotations

import asyncio
import threading

import pytest

from mcp_agent_mail.core.concurrency.looks import DirectorySilent, LooksClosed
from mcp_agent_mail.features.attachments.threads import TURNS, AttachmentThreads

LIMIT_S = 30.0


async def test_one_caller_computes_twice_at_a_time_and_never_on_the_loop() -> None:
    threads, at_work, most = AttachmentThreads(), 0, 0
    lock, go = threading.Lock(), threading.Event()

    def work() -> int:
        nonlocal at_work, most
        with lock:
            at_work += 1
            most = max(most, at_work)
        assert go.wait(LIMIT_S)
        with lock:
            at_work -= 1
        return threading.get_ident()

    async with asyncio.TaskGroup() as tasks:
        calls = [tasks.create_task(threads.compute(work)) for _ in range(6)]
        await asyncio.sleep(0)
        go.set()

    assert most <= TURNS.places_each
    assert threading.get_ident() not in {call.result() for call in calls}
    threads.close()


async def test_a_file_that_hangs_is_given_up_and_others_are_read() -> None:
    threads, held = AttachmentThreads(file_within_s=1.0), threading.Event()

    with pytest.raises(DirectorySilent):
        await threads.read("/hangs", held.wait)

    assert await threads.read("/answers", lambda: 1) == 1
    held.set()
    threads.close()
    with pytest.raises(LooksClosed):
        await threads.read("/answers", lambda: 1)


async def test_while_bodies_are_read_attachments_are_made_ready() -> None:
    threads, held, begun = AttachmentThreads(), threading.Event(), threading.Semaphore(0)

    def slow() -> bool:
        begun.release()
        return held.wait(LIMIT_S)

    async with asyncio.TaskGroup() as tasks:
        bodies = [tasks.create_task(threads.read_body(slow)) for _ in range(2 * TURNS.places)]
        await asyncio.to_thread(begun.acquire)
        async with asyncio.timeout(LIMIT_S):
            ready = [await threads.compute(lambda: 1) for _ in range(TURNS.places)]
        assert not any(body.done() for body in bodies)
        held.set()

    assert ready == [1] * TURNS.places
    threads.close()

"""Threads of a server's event loop: whose work they do is known, and tools fill only a pool of their own."""

from __future__ import annotations

import asyncio
import threading

import pytest

from mcp_agent_mail.bootstrap.left_calls import (
    MAX_HANDED,
    MAX_THREADS,
    CustomToolUnfinished,
    LoopThreads,
    running_tool,
)


async def test_tools_that_fill_their_threads_leave_the_servers_alone() -> None:
    threads, go_on = LoopThreads(), threading.Event()
    asyncio.get_running_loop().set_default_executor(threads)
    with running_tool("nap"):
        naps = [asyncio.create_task(asyncio.to_thread(go_on.wait)) for _ in range(MAX_THREADS + 1)]
    await asyncio.sleep(0)

    own = await asyncio.to_thread(lambda: "done")
    at_work = list(threads.at_work().values())
    go_on.set()
    await asyncio.gather(*naps)

    assert own == "done"
    assert at_work == ["nap"] * (MAX_THREADS + 1)
    assert threads.at_work() == {}


async def test_a_tool_that_hands_over_without_end_is_refused_and_the_server_is_not() -> None:
    threads, go_on = LoopThreads(), threading.Event()
    try:
        with running_tool("flood"):
            handed = [threads.submit(go_on.wait) for _ in range(MAX_HANDED)]
            with pytest.raises(CustomToolUnfinished, match="1000 pieces of work"):
                threads.submit(go_on.wait)
        own = await asyncio.wrap_future(threads.submit(lambda: "done"))
        go_on.set()
        await asyncio.gather(*map(asyncio.wrap_future, handed))
        with running_tool("flood"):
            again = await asyncio.wrap_future(threads.submit(lambda: "again"))
    finally:
        go_on.set()
        threads.shutdown()

    assert (own, again) == ("done", "again")


async def test_a_tools_thread_that_runs_out_of_an_iterator_fails_at_once() -> None:
    asyncio.get_running_loop().set_default_executor(LoopThreads())
    with running_tool("odd"), pytest.raises(RuntimeError, match="StopIteration"):
        await asyncio.wait_for(asyncio.to_thread(next, iter(())), timeout=30)

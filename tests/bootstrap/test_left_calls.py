"""Threads of a server's event loop: whose work they do is known, and tools fill only a pool of their own."""

from __future__ import annotations

import asyncio
import threading

from mcp_agent_mail.bootstrap.left_calls import MAX_THREADS, ToolThreads, running_tool


async def test_tools_that_fill_their_threads_leave_the_servers_alone() -> None:
    threads, go_on = ToolThreads(), threading.Event()
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

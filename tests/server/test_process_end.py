"""The end of `am serve`, as a process: what tools of other packages leave behind does not keep it, and is told."""

from __future__ import annotations

import asyncio
import os
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mcp_agent_mail.server.process_end import ProcessEnd
from tests.entry_points import install
from tests.pages.blocks import ROOT
from tests.served import Served, pause

TIMEOUT_S = 2
WITHIN_S = 15
"""Far less than what the tools take."""
PACKAGE = """
    import asyncio, atexit, os, sys, threading, time
    from concurrent.futures import ThreadPoolExecutor
    from mcp_agent_mail.extending import Json, tool

    def begun():
        open(os.environ["BEGUN"], "w").close()

    def work():
        begun()
        time.sleep(600)

    async def nap() -> Json:
        '''Sleep in a thread.'''
        await asyncio.to_thread(work)
        return {}

    async def hold() -> Json:
        '''Hold on.'''
        begun()
        while True:
            try:
                await asyncio.sleep(600)
            except asyncio.CancelledError:
                pass

    async def spawn() -> Json:
        '''Begin a thread.'''
        threading.Thread(target=work, name="the package's own").start()
        return {}

    async def pool() -> Json:
        '''Begin a pool of threads, which idles, and say so at the end.'''
        pool.idle = ThreadPoolExecutor(1)
        await asyncio.get_running_loop().run_in_executor(pool.idle, begun)
        atexit.register(sys.stderr.write, "a proper end\\n")
        return {}

    def tools(host):
        return [tool(one, title="Slow") for one in (nap, hold, spawn, pool)]
"""


@contextmanager
def called(tmp_path: Path, tool: str, calls: int = 1) -> Iterator[Served]:
    """A server whose tool is at work, or has been."""
    site = tmp_path / "site"
    site.mkdir()
    install(site, "slow-tools", PACKAGE, slow="tools")
    begun = tmp_path / "begun"
    path = os.pathsep.join((str(site), str(ROOT / "src")))
    settings = {"CUSTOM_TOOLS": "slow", "SHUTDOWN_TIMEOUT_SECONDS": str(TIMEOUT_S), "BEGUN": str(begun)}
    with Served(tmp_path / "store", port=None, PYTHONPATH=path, **settings) as server:
        calling = [threading.Thread(target=_call, args=(server, tool), daemon=True) for _ in range(calls)]
        for one in calling:
            one.start()
        while not begun.exists():
            pause()
        yield server


def _call(server: Served, tool: str) -> None:
    with server.connect() as connection:
        try:
            connection.rpc(tool, {})
        except OSError:
            return


def stopped(server: Served) -> int:
    process = server.process
    assert process is not None
    process.terminate()
    return process.wait(WITHIN_S)


@pytest.mark.parametrize(
    ("tool", "calls", "told"),
    [
        ("nap", 1, "custom tool nap in a thread"),
        ("nap", 40, "custom tool nap in a thread"),
        ("hold", 1, "custom tool hold"),
        ("spawn", 1, "the package's own"),
    ],
)
def test_what_does_not_end_is_told_and_ends_with_the_process_once_the_store_is_closed(
    tmp_path: Path, tool: str, calls: int, told: str
) -> None:
    with called(tmp_path, tool, calls) as server:
        try:
            code = stopped(server)
        except subprocess.TimeoutExpired:
            server.kill()
            raise

        log = server.log.read_text()
        assert code == 0, log
        assert f"eft behind, and ended with the process: {told}." in log
        assert "Traceback" not in log
        assert not (server.root / "mail.sqlite3-wal").exists()
        assert not (server.root / "operator.token").exists()


def test_threads_that_only_idle_end_with_python_as_ever(tmp_path: Path) -> None:
    with called(tmp_path, "pool") as server:
        code = stopped(server)

        log = server.log.read_text()
        assert code == 0
        assert "behind" not in log
        assert "a proper end" in log


def test_a_task_that_ends_when_it_is_told_to_is_told_and_not_left_behind() -> None:
    kept: list[asyncio.Task[None]] = []

    async def serve() -> None:
        kept.append(asyncio.create_task(asyncio.sleep(600), name="nobody's"))

    end = ProcessEnd()
    end.run(serve())

    assert end.left_behind == []
    assert kept[0].cancelled()

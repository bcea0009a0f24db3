"""A real uvicorn process over an application of ours, or of a parent's, and plain and MCP clients for it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from mcp.client.session import ClientSession
from mcp.client.streamable_http import streamable_http_client

from tests.served import Connection, pause

ENDS_WITHIN_S = 60
_STARTED = ("startup complete", "running on")
"""What uvicorn logs, the one before it listens, the other before its workers have started."""
_KEPT = ("PATH", "PYTHONPATH", "HOME", "TMPDIR", "COVERAGE_PROCESS_CONFIG")


@dataclass(frozen=True, slots=True)
class UnderUvicorn:
    """One run of it. `root` is its store."""

    process: subprocess.Popen[bytes]
    port: int
    log: Path
    root: Path

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    def connect(self) -> Connection:
        return Connection(self.port)

    def am(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """The command line over this store."""
        return subprocess.run(
            [sys.executable, "-m", "mcp_agent_mail", *arguments],
            capture_output=True,
            text=True,
            check=False,
            timeout=ENDS_WITHIN_S,
            cwd=self.root.parent,
            env=environment(self.root),
        )

    def await_logged(self, text: str) -> str:
        """The whole log, once `text` stands in it."""
        while text not in (logged := self.log.read_text()):
            assert self.process.poll() is None, logged
            pause()
        return logged

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(ENDS_WITHIN_S)


def environment(root: Path, **settings: str) -> dict[str, str]:
    """No setting of the person running the tests gets through."""
    kept = {name: value for name, value in os.environ.items() if name in _KEPT}
    return {**kept, "STORAGE_ROOT": str(root), "AGENT_MAIL_ENV_FILE": os.devnull, **settings}


@contextmanager
def under_uvicorn(
    directory: Path, application: str, *, options: Sequence[str] = (), **settings: str
) -> Iterator[UnderUvicorn]:
    """`uvicorn APPLICATION --port N` in `directory`, over the store in it, once it answers or has ended."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    log, root = directory / f"{port}.log", directory / "store"
    command = [sys.executable, "-m", "uvicorn", application, "--port", str(port), *options]
    env = environment(root, **settings)
    with log.open("wb") as output:
        process = subprocess.Popen(command, env=env, cwd=directory, stdout=output, stderr=subprocess.STDOUT)
    try:
        while process.poll() is None and not all(word in log.read_text() for word in _STARTED):
            pause()
        yield UnderUvicorn(process, port, log, root)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(ENDS_WITHIN_S)


@asynccontextmanager
async def mcp_session(url: str) -> AsyncIterator[ClientSession]:
    """The official client, after its handshake."""
    async with (
        streamable_http_client(url) as (read, write),
        ClientSession(read, write) as session,
    ):
        await session.initialize()
        yield session

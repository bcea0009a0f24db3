"""The servers under test: started on their core, weighed and stopped as whole process trees."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from benchmarks.kernel import process_tree
from benchmarks.wire import Answer, AnswerReader, Dialect, Refused

START_WITHIN_S = 60.0
STOP_WITHIN_S = 30.0
_POLL_S = 0.005


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def pss_mib(pid: int) -> dict[int, float]:
    """Proportional set size per process of the tree, in MiB (Linux)."""
    sizes = {}
    for member in process_tree(pid):
        with suppress(OSError):
            for line in Path(f"/proc/{member}/smaps_rollup").read_text().splitlines():
                if line.startswith("Pss:"):
                    sizes[member] = int(line.split()[1]) / 1024
    return sizes


def cpu_s(pid: int) -> float:
    """CPU time of one process so far, all its threads (Linux; else 0)."""
    with suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return 0.0


@dataclass(slots=True)
class Server:
    """A running server process; `first_answer_s` is the time from spawn to its first successful tool call."""

    name: str
    process: subprocess.Popen[bytes]
    port: int
    first_answer_s: float

    def stop(self) -> None:
        """Ask it to stop, as an operator would; a server that does not is a failure."""
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(STOP_WITHIN_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise


def _exchange(connection: socket.socket, request: bytes) -> Answer:
    connection.sendall(request)
    reader = AnswerReader()
    while True:
        data = connection.recv(65536)
        if not data:
            raise Refused("the server closed the connection while starting")
        if (answer := reader.feed(data)) is not None:
            return answer


def _ask(port: int, dialect: Dialect, tool: str, arguments: dict[str, str]) -> bool:
    """One connection, a handshake and one call. False while nothing listens."""
    try:
        connection = socket.create_connection(("127.0.0.1", port), timeout=START_WITHIN_S)
    except ConnectionRefusedError:
        return False
    with connection:
        for position in range(len(dialect.handshake())):
            greeting = _exchange(connection, dialect.handshake()[position])
            if position == 0:
                dialect.greeted(greeting.head)
        answer = _exchange(connection, dialect.call(tool, arguments))
    if not dialect.is_success(answer.status, answer.body):
        raise Refused(f"first call: {answer.status} {answer.body[:500]!r}")
    return True


def start(command: list[str], cores: set[int], log: Path, **env: str) -> subprocess.Popen[bytes]:
    """Spawn on its core from the first instruction on."""
    with log.open("ab") as output:
        return subprocess.Popen(
            command,
            stdout=output,
            stderr=output,
            env={**os.environ, **env},
            preexec_fn=(lambda: os.sched_setaffinity(0, cores)) if cores else None,  # noqa: PLW1509  # no threads here
        )


def await_answer(
    name: str, process: subprocess.Popen[bytes], port: int, began: float, ask: Callable[[], bool], log: Path
) -> Server:
    """Poll until the first call succeeds."""
    while time.perf_counter() - began < START_WITHIN_S:
        if process.poll() is not None:
            raise Refused(f"{name} ended with {process.returncode}:\n{log.read_text()[-3000:]}")
        if ask():
            return Server(name, process, port, time.perf_counter() - began)
        time.sleep(_POLL_S)
    process.kill()
    raise Refused(f"{name} did not answer within {START_WITHIN_S} s:\n{log.read_text()[-3000:]}")


def start_floor(scratch: Path, cores: set[int], dialect: Dialect, *, module: str = "benchmarks.floor") -> Server:
    """The floor, or another `module` that serves its `echo` too."""
    port = free_port()
    log = scratch / "floor.log"
    began = time.perf_counter()
    process = start([sys.executable, "-m", module, str(port)], cores, log)
    return await_answer("floor", process, port, began, lambda: _ask(port, dialect, "echo", {"text": "first"}), log)


def start_ours(root: Path, cores: set[int], dialect: Dialect, *, launcher: str | None = None, **env: str) -> Server:
    """Our server over the store at `root`, with default settings but for `env`. `launcher` is a module run instead."""
    port = free_port()
    root.mkdir(parents=True, exist_ok=True)
    log = root.parent / f"{root.name}.log"
    ours = ["mcp_agent_mail", "serve", "--host", "127.0.0.1", "--port", str(port)]
    command = [sys.executable, "-m", *(ours if launcher is None else [launcher, str(port)])]
    settings = {"STORAGE_ROOT": str(root), "LOG_LEVEL": "WARNING", **env}
    began = time.perf_counter()
    process = start(command, cores, log, **settings)
    return await_answer("ours", process, port, began, lambda: _ask(port, dialect, "health_check", {}), log)

"""Runs commands of `am` as processes of their own that end at a named instant, before a step, or after a time.

All that a command imports is imported once: each command is a fork. The way in belongs to the tests alone. Requests
come on stdin and answers go to stdout, one line of JSON each.
"""

from __future__ import annotations

import json
import mmap
import os
import signal
import sys
import threading
import time
from dataclasses import asdict, dataclass, field
from importlib import import_module
from pathlib import Path
from typing import NoReturn

# A script's own folder is not on the path with -P, and the tests' root is not there at all.
sys.path.insert(0, str(Path(__file__).parents[2]))

from mcp_agent_mail.core import failpoints

LOOK_EVERY_S = 0.001
STEPS = frozenset(
    {
        *("os.rename", "os.link", "os.symlink", "os.mkdir", "os.remove", "os.rmdir", "os.chmod", "os.utime"),
        *("subprocess.Popen", "os.posix_spawn", "sqlite3.connect", "fcntl.flock"),
    }
)
"""Of what a process does, what others can see; besides these it opens files to write."""

USED = (
    *("cli.app", "cli.commands.doctor", "cli.commands.archives", "cli.offline.backups", "cli.offline.rebuild"),
    *("cli.offline.restore_saved", "cli.offline.saved_archives", "cli.offline.unused_contents"),
    *("features.archiving.offline_drain", "features.archiving.open_drain", "cli.hints"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """`point`: the instant and its how manieth reach at which the process kills itself; `step`: before which step it
    does; `after_s`: when it is killed. `output`: the file that gets what it prints.
    """

    arguments: list[str]
    environment: dict[str, str]
    output: str
    point: tuple[str, int] | None = None
    step: int | None = None
    after_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """`points`: the instants that it reached, in their order; `code` as the process had it, negative for a signal."""

    code: int
    steps: int
    points: list[str] = field(default_factory=list)
    seconds: float = 0


class Fate:
    """The hook of every instant, and of every step: does nothing in a process without a request."""

    def __init__(self) -> None:
        self._request: Request | None = None
        self._reached = -1
        self._steps: mmap.mmap | None = None
        self._left = 0

    def await_it(self, request: Request, reached: int, steps: mmap.mmap) -> None:
        self._request, self._reached, self._steps = request, reached, steps
        self._left = 0 if request.point is None else request.point[1]
        sys.addaudithook(self._note)

    def __call__(self, point: failpoints.FailPoint) -> None:
        request = self._request
        if request is None:
            return
        os.write(self._reached, f"{point}\n".encode())
        if request.point is not None and point == request.point[0]:
            self._left -= 1
            if self._left == 0:
                _die()

    def _note(self, event: str, arguments: tuple[object, ...]) -> None:
        if event not in STEPS and not (event == "open" and _writes(arguments)):
            return
        assert self._request is not None
        assert self._steps is not None
        count = int.from_bytes(self._steps[:8], "little") + 1
        if count == self._request.step:
            _die()
        self._steps[:8] = count.to_bytes(8, "little")


def _writes(arguments: tuple[object, ...]) -> bool:
    flags = arguments[2]
    return isinstance(flags, int) and bool(flags & (os.O_WRONLY | os.O_RDWR))


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def main() -> int:
    fate = Fate()
    # Before anything else is imported: whatever does nothing at an instant does this.
    failpoints.no_fault = fate
    for module in USED:
        import_module(f"mcp_agent_mail.{module}")
    for line in sys.stdin:
        ended = run(Request(**json.loads(line)), fate)
        sys.stdout.write(json.dumps(asdict(ended)) + "\n")
        sys.stdout.flush()
    return 0


def run(request: Request, fate: Fate) -> Ended:
    steps = mmap.mmap(-1, 8)
    reached = os.open(f"{request.output}.points", os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)
    began = time.monotonic()
    pid = os.fork()
    if pid == 0:
        _become(request, fate, reached, steps)
    code = _ended(pid, None if request.after_s is None else began + request.after_s)
    seconds = time.monotonic() - began
    points = os.pread(reached, 1 << 20, 0).decode().split()
    os.close(reached)
    return Ended(code=code, steps=int.from_bytes(steps[:8], "little"), points=points, seconds=seconds)


def _ended(pid: int, deadline: float | None) -> int:
    while deadline is not None and time.monotonic() < deadline:
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        threading.Event().wait(LOOK_EVERY_S)
    if deadline is not None:
        os.kill(pid, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _become(request: Request, fate: Fate, reached: int, steps: mmap.mmap) -> NoReturn:
    """The command: this process does nothing else."""
    code = 70
    try:
        output = os.open(request.output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        for fd in (1, 2):
            os.dup2(output, fd)
        os.environ.update(request.environment)
        run_command = import_module("mcp_agent_mail.cli.app").run
        fate.await_it(request, reached, steps)
        code = run_command(request.arguments)
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 1
    except BaseException:  # noqa: BLE001  # told, and the process ends
        sys.excepthook(*sys.exc_info())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    sys.exit(main())

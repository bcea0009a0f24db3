"""The archive's child process: `python -m mcp_agent_mail.archiver`, started by the server.

Its standard input says what to do: first a line of settings, then a line per wake-up or request, `ping` to
hear whether it still answers, `drain SECONDS` for an orderly end. When the input closes, the server is gone,
and it ends too. On standard output it reports commits, which the server's one writer marks. It alone changes
archives while it runs, and it imports neither FastMCP nor SQLModel, so that it stays small.
"""

from __future__ import annotations

import os
import select
import signal
import time
import traceback
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import NoReturn

from mcp_agent_mail.archive.locks import ArchivesBusy
from mcp_agent_mail.core.clock import SECOND, Micros, system_clock
from mcp_agent_mail.core.concurrency.freed_pages import give_back_freed
from mcp_agent_mail.core.failpoints import reach_that_kills
from mcp_agent_mail.core.git.process import kill_git_under_way
from mcp_agent_mail.core.plain_files import UnfitPlace
from mcp_agent_mail.core.standard_streams import say_last
from mcp_agent_mail.features.archiving.drain import Drain
from mcp_agent_mail.features.archiving.open_drain import open_drain
from mcp_agent_mail.features.archiving.protocol import (
    CHECK_OUT,
    DRAIN,
    PING,
    WAKE,
    ArchiverSettings,
    CheckOut,
    Drained,
    Pong,
    Ready,
    Report,
    to_line,
)

_STDIN = 0
_STDOUT = 1
_CHUNK = 65_536
QUIET_S = 30.0
"""Without anything to do, until what was freed goes back to the system."""
SOON_S = 5.0
"""What the drain looks at again within it is under way or comes next: a commit, the pages after it, Git beside them.
What is tried again after a minute, or done each hour, is not, nor what hangs.
"""
TIDY_S = 5.0
"""What a stop waits for what the next start would mend."""


class Instructions:
    """The lines of standard input, with a time limit on waiting for them."""

    def __init__(self) -> None:
        self._lines: deque[bytes] = deque()
        self._rest = b""
        self._is_closed = False

    def next(self, timeout_s: float | None, *others: Drain) -> bytes | None:
        """The next line; None after `timeout_s` without one, or when one of `others` has something to do.

        Raises EOFError once the server is gone.
        """
        watched = [_STDIN, *(other.fileno() for other in others)]
        while not self._lines:
            ready, _, _ = select.select(watched, [], [], timeout_s)
            if _STDIN not in ready:
                return None
            chunk = os.read(_STDIN, _CHUNK)
            if not chunk:
                raise EOFError
            *lines, self._rest = (self._rest + chunk).split(b"\n")
            self._lines.extend(lines)
        return self._lines.popleft()

    def skip(self, line: bytes) -> None:
        """Drop the repeats of `line` that have come already."""
        while self._lines and self._lines[0] == line:
            self._lines.popleft()


class WorkEnd:
    """Tells once after each time of work that it is over: then memory is given back."""

    def __init__(self, elapsed: Callable[[], float] = time.monotonic) -> None:
        self._elapsed = elapsed
        self._worked_at: float | None = elapsed()

    def at_most(self, wait_s: float | None) -> float | None:
        """How long to wait for a line, where nothing else is due for `wait_s`."""
        if self._worked_at is None:
            return wait_s
        return QUIET_S if wait_s is None else min(wait_s, QUIET_S)

    def has_come(self, line: bytes | None, due_s: float | None) -> bool:
        """Whether nothing but pings has come for QUIET_S, `line` included, and nothing was due soon; true once.

        `due_s`: before the line was waited for, something was due in so many seconds.
        """
        if (line is not None and line != PING.rstrip()) or (due_s is not None and due_s <= SOON_S):
            self._worked_at = self._elapsed()
        if self._worked_at is None or self._elapsed() - self._worked_at < QUIET_S:
            return False
        self._worked_at = None
        return True


def main() -> int:
    """Serve one server until it says `drain` or closes standard input; 0 either way. SIGTERM and SIGINT are ignored.
    Raises ArchivesBusy while another process works on the store's archives, and UnfitPlace where their lock is no file.
    """
    # A stop of the whole process group reaches us too: the server decides what happens then.
    signal.signal(signal.SIGTERM, _stay)
    signal.signal(signal.SIGINT, _stay)
    instructions = Instructions()
    with suppress(EOFError):
        line = instructions.next(None)
        assert line is not None
        settings = ArchiverSettings.from_line(line)
        fault_hook = reach_that_kills(settings.failpoint)
        with open_drain(settings, report=_report, fault_hook=fault_hook, converts=True) as drain:
            _serve(drain, instructions)
    return 0


def _serve(drain: Drain, instructions: Instructions) -> None:
    drain.resume()
    _report(Ready(pid=os.getpid(), unfinished=drain.unfinished))
    work_end = WorkEnd()
    while True:
        due_s = drain.begin()
        line = instructions.next(work_end.at_most(due_s), drain)
        if work_end.has_come(line, due_s):
            give_back_freed()
        if line is not None and line.startswith(DRAIN):
            seconds = float(line.removeprefix(DRAIN))
            pending = drain.flush(Micros(system_clock() + int(seconds * SECOND)), tidy_s=TIDY_S)
            _report(Drained(pending=pending))
            return
        if line is not None and line.startswith(CHECK_OUT):
            drain.check_out(CheckOut.from_line(line))
        if line == PING.rstrip():
            _report(Pong())
        instructions.skip(WAKE.rstrip())


def _report(report: Report) -> None:
    """Raises EOFError once the server is gone."""
    line = to_line(report)
    try:
        while line:
            line = line[os.write(_STDOUT, line) :]
    except BrokenPipeError:
        raise EOFError from None


def _stay(number: int, frame: FrameType | None) -> None:
    """Keep running: the end comes by standard input."""


def end() -> NoReturn:
    """As `sys.exit`, without waiting for a thread that hangs, and without leaving its Git, which holds its archive."""
    code = 1
    try:
        code = main()
    except (ArchivesBusy, UnfitPlace):
        code = 1  # It has been told.
    except Exception:  # noqa: BLE001  # the process ends of it in any case
        say_last(traceback.format_exc())
    finally:
        kill_git_under_way()
        os._exit(code)


if __name__ == "__main__":
    end()

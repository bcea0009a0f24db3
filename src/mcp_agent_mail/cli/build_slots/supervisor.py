"""Runs one command as a child: passes signals on to it, wakes up in between, and tells how it ended."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from types import FrameType, TracebackType
from typing import Self

PASSED_ON = (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
_FROM_A_TERMINAL = (signal.SIGINT, signal.SIGQUIT)
SIGNALLED = 128


class Supervisor:
    """`with Supervisor() as supervisor`: within, the signals PASSED_ON end neither us nor go unheard.

    Before the command runs they are kept: `caught` tells the first one, and a later start passes all of them on.
    """

    def __init__(self) -> None:
        self._caught: list[int] = []
        self._child: subprocess.Popen[bytes] | None = None
        self._before: dict[int, object] = {}

    def __enter__(self) -> Self:
        # Waking over a pipe: a lock that a handler takes could be held by the very code it interrupts.
        self._reading, self._writing = os.pipe()
        for end in (self._reading, self._writing):
            os.set_blocking(end, False)
        self._wakeup_before = signal.set_wakeup_fd(self._writing, warn_on_full_buffer=False)
        for number in PASSED_ON:
            before = signal.getsignal(number)
            # What our parent ignores (`nohup am run …`) stays ignored, for the command too.
            if before is not signal.SIG_IGN:
                self._before[number] = before
                signal.signal(number, self._handle)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)  # type: ignore[arg-type]  # as getsignal gave it
        signal.set_wakeup_fd(self._wakeup_before)
        os.close(self._reading)
        os.close(self._writing)

    @property
    def caught(self) -> int | None:
        return self._caught[0] if self._caught else None

    def pause(self, seconds: float) -> bool:
        """Wait so long, or until a signal comes; whether none came."""
        until = time.monotonic() + seconds
        while not self._caught and (left_s := until - time.monotonic()) > 0:
            self._sleep(left_s)
        return not self._caught

    def run(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        *,
        next_at: Callable[[], float],
        work: Callable[[], None],
    ) -> int:
        """The command's exit code, 128 and the number of the signal that ended it. Raises OSError if it cannot start.

        `work` is done whenever the monotonic time `next_at` has come.
        """
        # What our parent handed down (a job server of make) is the command's too; our own files close by themselves.
        child = subprocess.Popen(list(command), env=dict(environment), close_fds=False)
        ended = threading.Event()
        threading.Thread(target=self._await_end, args=(child, ended), daemon=True).start()
        self._child = child
        for number in self._caught:
            self._pass_on(number)
        while not ended.is_set():
            left_s = next_at() - time.monotonic()
            if left_s <= 0:
                work()
            else:
                self._sleep(left_s)
        code = child.returncode
        return code if code >= 0 else SIGNALLED - code

    def _await_end(self, child: subprocess.Popen[bytes], ended: threading.Event) -> None:
        child.wait()
        ended.set()
        with suppress(OSError):
            os.write(self._writing, b"\0")

    def _sleep(self, seconds: float) -> None:
        select.select([self._reading], [], [], seconds)
        with suppress(BlockingIOError):
            while os.read(self._reading, 512):
                pass

    def _handle(self, number: int, _frame: FrameType | None) -> None:
        self._caught.append(number)
        self._pass_on(number)

    def _pass_on(self, number: int) -> None:
        child = self._child
        if child is None or (number in _FROM_A_TERMINAL and _is_in_foreground()):
            return
        with suppress(ProcessLookupError):
            child.send_signal(number)


def _is_in_foreground() -> bool:
    """Then Ctrl-C reaches the command by itself: it is in our process group. Twice would be once too often."""
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):
            return os.tcgetpgrp(stream.fileno()) == os.getpgrp()
    return False

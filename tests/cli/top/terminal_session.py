"""A program on a terminal of its own: what it writes there, what ends it, and how it leaves the terminal."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Mapping
from fcntl import ioctl
from pathlib import Path
from struct import pack
from types import TracebackType
from typing import Self

ENTER, LEAVE = b"\x1b[?1049h", b"\x1b[?1049l"
HIDE, SHOW = b"\x1b[?25l", b"\x1b[?25h"
WITHIN_S = 60.0


class TerminalSession:
    """`with TerminalSession(...) as session`: 24 lines of 100 columns. The program leads a session, as in a window."""

    def __init__(self, *arguments: str, environment: Mapping[str, str], cwd: Path) -> None:
        self._controller, self._terminal = pty.openpty()
        ioctl(self._terminal, termios.TIOCSWINSZ, pack("HHHH", 24, 100, 0, 0))
        self.modes = termios.tcgetattr(self._terminal)
        self.seen = b""
        self.process = subprocess.Popen(
            [sys.executable, *arguments],
            stdin=self._terminal,
            stdout=self._terminal,
            stderr=self._terminal,
            cwd=cwd,
            env={**environment, "TERM": "xterm-256color"},
            start_new_session=True,
            preexec_fn=lambda: ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509  # one call of the system's, no lock
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for file in (self._controller, self._terminal):
            if file >= 0:
                os.close(file)

    def until(self, *words: bytes) -> None:
        """Read on until each of the words was written, one behind the other, from here on."""
        start, deadline = len(self.seen), time.monotonic() + WITHIN_S
        for word in words:
            while (at := self.seen.find(word, start)) < 0:
                assert time.monotonic() < deadline, f"{word!r} never came: {self.seen[-2_000:]!r}"
                assert self._read(0.1) or self.process.poll() is None, f"ended: {self.seen[-2_000:]!r}"
            start = at + len(word)

    def _read(self, within_s: float) -> bool:
        if not select.select([self._controller], [], [], within_s)[0]:
            return False
        self.seen += os.read(self._controller, 65_536)
        return True

    def type(self, keys: bytes) -> None:
        os.write(self._controller, keys)

    def send(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def hang_up(self) -> None:
        """Close the window: the terminal is no more."""
        os.close(self._terminal)
        os.close(self._controller)
        self._terminal = self._controller = -1

    def ended(self) -> int:
        """Its exit code, once it has ended; all that it wrote is in `seen`."""
        deadline = time.monotonic() + WITHIN_S
        while self.process.poll() is None:
            assert time.monotonic() < deadline, f"it goes on: {self.seen[-2_000:]!r}"
            if self._controller >= 0:
                self._read(0.05)
        while self._controller >= 0 and self._read(0):
            pass
        return self.process.returncode

    def is_restored(self) -> bool:
        """Whether the terminal is as it was: the first screen, a cursor to be seen, and its modes."""
        is_left = self.seen.rfind(LEAVE) > self.seen.rfind(ENTER) >= 0
        is_shown = self.seen.rfind(SHOW) > self.seen.rfind(HIDE) >= 0
        return is_left and is_shown and termios.tcgetattr(self._terminal) == self.modes

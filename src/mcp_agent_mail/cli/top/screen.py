r"""The terminal's other screen, on which frames are shown; what was on it is back at every end.

An end is an exception, whatever it comes of: Ctrl-C, Ctrl-\, SIGTERM and every other signal that ends a program raise
`Ended` once, and are passed over from then on. Ctrl-Z gives the terminal back until the command goes on. Of a `kill -9`
the other screen is left, and a terminal that shows no keys: `reset` mends both.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from mcp_agent_mail.cli.top.keys import QUIT, Keys

_ENTER = b"\x1b[?1049h\x1b[?25l"
_LEAVE = b"\x1b[?25h\x1b[?1049l"
_HOME, _END_OF_LINE, _REST = "\x1b[H", "\x1b[K", "\x1b[J"
_ENDING = (
    signal.SIGINT,
    signal.SIGTERM,
    signal.SIGHUP,
    signal.SIGQUIT,
    signal.SIGABRT,
    signal.SIGALRM,
    signal.SIGVTALRM,
    signal.SIGPROF,
    signal.SIGXCPU,
    signal.SIGUSR1,
    signal.SIGUSR2,
)


class Ended(BaseException):
    """Somebody ends the command: by `signal`, or by taking the terminal away."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class Screen:
    """`show` frames, `rest` between them. Whoever writes elsewhere meanwhile would write over them."""

    def __init__(self, file: int) -> None:
        self._file = file
        self._keys = Keys()
        self._frame = b""
        self._is_shown = False
        self._is_ending = False

    def show(self, lines: list[str]) -> None:
        """The frame, in place of the one before. Raises Ended where the terminal has gone."""
        text = "\r\n".join(f"{line}{_END_OF_LINE}" for line in lines)
        self._frame = f"{_HOME}{text}{_REST}".encode(sys.stdout.encoding or "utf-8", "replace")
        self._write(self._frame)

    def rest(self, seconds: float) -> bool:
        """Whether somebody has typed `q`; until then, so many seconds."""
        return self._keys.wait_for(QUIT, seconds)

    def _write(self, data: bytes) -> None:
        try:
            while data:
                data = data[os.write(self._file, data) :]
        except OSError as gone:
            raise Ended(signal.SIGHUP) from gone

    def enter(self) -> None:
        self._is_shown = True
        self._keys.enter()
        self._write(_ENTER + self._frame)

    def leave(self) -> None:
        """Safe to repeat. A terminal that has gone has nothing to be put back."""
        self._is_shown = False
        self._keys.leave()
        with suppress(OSError):
            os.write(self._file, _LEAVE)

    def end(self, number: int, _frame: FrameType | None) -> None:
        """What a signal that ends the command does."""
        if not self._is_ending:
            self._is_ending = True
            raise Ended(number)

    def stop(self, _number: int, _frame: FrameType | None) -> None:
        """Ctrl-Z: stop as a program without a screen does, and begin again where the shell lets it go on."""
        self.leave()
        signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTSTP)
        signal.signal(signal.SIGTSTP, self.stop)
        self.enter()

    def go_on(self, _number: int, _frame: FrameType | None) -> None:
        """Whoever was stopped without being asked finds the modes that the shell has set."""
        if self._is_shown:
            self._keys.enter()


@contextmanager
def open_screen(file: int | None = None) -> Iterator[Screen]:
    """The other screen of the terminal on `file` (standard output). For the main thread, which signals come to."""
    screen = Screen(sys.stdout.fileno() if file is None else file)
    before = {number: signal.signal(number, screen.end) for number in _ENDING}
    before[signal.SIGTSTP] = signal.signal(signal.SIGTSTP, screen.stop)
    before[signal.SIGCONT] = signal.signal(signal.SIGCONT, screen.go_on)
    try:
        # Twice: a first signal may come while the screen is left, and there is no second.
        try:
            screen.enter()
            yield screen
        finally:
            screen.leave()
    except Ended:
        screen.leave()
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

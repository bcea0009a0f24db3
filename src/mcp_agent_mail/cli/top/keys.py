"""Keys of the terminal that a command is watched on: without an echo and without Enter. Ctrl-C and its like stay
signals.

Only who is in the terminal's foreground changes its modes, or reads: the kernel would stop any other.
"""

from __future__ import annotations

import os
import select
import termios
import time
import tty
from contextlib import suppress
from typing import Any

QUIT = b"q"
_MOST = 1_024
_PIECE_S = 0.5
"""A signal in the instant before a wait blocks is seen by Python only when that wait ends."""


class Keys:
    """`enter` and `leave` may be repeated. Where `file` (standard input) is no terminal, no key ever comes."""

    def __init__(self, file: int = 0) -> None:
        self._file = file
        # Any: flags, speeds and a list of characters, as termios has them.
        self._before: list[Any] | None = None

    def enter(self) -> None:
        """Take keys one by one from now on."""
        with suppress(OSError, termios.error):
            if self._is_ours():
                self._before = self._before or termios.tcgetattr(self._file)
                tty.setcbreak(self._file, termios.TCSANOW)

    def leave(self) -> None:
        """Give the modes back that there were. What was typed meanwhile and not read is nobody's."""
        with suppress(OSError, termios.error):
            if self._before is not None and self._is_ours():
                termios.tcflush(self._file, termios.TCIFLUSH)
                termios.tcsetattr(self._file, termios.TCSANOW, self._before)
        # Last: a signal may come before, and then this is called again.
        self._before = None

    def wait_for(self, key: bytes, seconds: float) -> bool:
        """Was this key typed, within so many seconds? Others are passed over."""
        until = time.monotonic() + seconds
        while (left_s := until - time.monotonic()) > 0:
            piece_s = min(left_s, _PIECE_S)
            if self._before is None:
                time.sleep(piece_s)
            elif select.select([self._file], [], [], piece_s)[0] and key in self._typed():
                return True
        return False

    def _typed(self) -> bytes:
        """What is there. A terminal that has gone has nothing more."""
        try:
            typed = os.read(self._file, _MOST)
        except OSError:
            typed = b""
        if not typed:
            self._before = None
        return typed

    def _is_ours(self) -> bool:
        return os.tcgetpgrp(self._file) == os.getpgrp()

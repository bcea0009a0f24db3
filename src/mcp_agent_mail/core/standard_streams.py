"""Standard streams that a process was started without (`am … >&-`), and a standard error that nobody reads."""

from __future__ import annotations

import os
import select
import sys

_ERROR = 2
"""Standard error's number, the last of the three."""
_AT_ONCE = 4_096
"""A pipe that takes anything takes so many bytes without waiting (PIPE_BUF on Linux)."""


def open_closed_streams() -> None:
    """Put /dev/null in the place of those that are closed: nobody need ask whether there is one, and no file that is
    opened later gets its number, where whoever writes to the stream would write into it. What Python itself would have
    used stays None, as `sys.__stdout__`.
    """
    _fill(os.O_RDWR)
    sys.stdin = sys.stdin or os.fdopen(0, closefd=False)
    sys.stdout = sys.stdout or os.fdopen(1, "w", closefd=False)
    sys.stderr = sys.stderr or os.fdopen(_ERROR, "w", closefd=False)


def hold_closed_numbers() -> None:
    """As far as numbers go: none that is closed is given to a file or a connection later. What is written to it fails,
    as it would without. For who hands mail over by printing it.
    """
    _fill(os.O_RDONLY)


def _fill(access: int) -> None:
    while (number := os.open(os.devnull, access)) <= _ERROR:
        os.set_inheritable(number, True)  # As those that were given are: programs that are started get it.
    os.close(number)


def say_last(text: str) -> None:
    """Write `text` on standard error as a process ends, as far as that goes without waiting; the rest is left out, and
    all of it without a standard error.
    """
    if sys.stderr is None:
        return
    try:
        file = sys.stderr.fileno()
        rest = text.encode("utf-8", "backslashreplace")
        while rest and select.select([], [file], [], 0)[1]:
            rest = rest[os.write(file, rest[: min(_AT_ONCE, select.PIPE_BUF)]) :]
    except (OSError, ValueError):
        return

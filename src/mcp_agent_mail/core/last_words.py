"""What a process says on standard error as it ends, where nobody may read that: it must not keep the end waiting."""

from __future__ import annotations

import os
import select
import sys

_AT_ONCE = 4_096
"""A pipe that takes anything takes so many bytes without waiting (PIPE_BUF on Linux)."""


def say_last(text: str) -> None:
    """Write `text` as far as that goes without waiting; the rest, and all without a standard error, is left out."""
    if sys.stderr is None:
        return
    try:
        file = sys.stderr.fileno()
        rest = text.encode("utf-8", "backslashreplace")
        while rest and select.select([], [file], [], 0)[1]:
            rest = rest[os.write(file, rest[: min(_AT_ONCE, select.PIPE_BUF)]) :]
    except (OSError, ValueError):
        return

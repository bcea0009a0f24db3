"""Standard streams that the process was started without (`am … >&-`)."""

from __future__ import annotations

import os
import sys

_LAST = 2
"""Standard error's number."""


def open_closed_streams() -> None:
    """Put /dev/null in the place of those that are closed: nobody need ask whether there is one, and no file that is
    opened later gets its number, where whoever writes to the stream would write into it. What Python itself would have
    used stays None, as `sys.__stdout__`.
    """
    while (number := os.open(os.devnull, os.O_RDWR)) <= _LAST:
        pass
    os.close(number)
    sys.stdin = sys.stdin or os.fdopen(0, closefd=False)
    sys.stdout = sys.stdout or os.fdopen(1, "w", closefd=False)
    sys.stderr = sys.stderr or os.fdopen(_LAST, "w", closefd=False)

"""What the process has freed, given back to the system."""

from __future__ import annotations

import sys


def give_back_freed() -> None:
    """The C library keeps what lies between pieces in use. Only glibc is asked, a few milliseconds' work, during which
    other threads of the process may wait for memory; elsewhere nothing is done.
    """
    if sys.platform != "linux":
        return
    import ctypes  # noqa: PLC0415  # a process that never rests needs none

    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)

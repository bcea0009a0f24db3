"""Names of threads as the system shows them (`top -H`, `ps -L`), which Python before 3.14 keeps to itself."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

_OWN_NAME = Path("/proc/thread-self/comm")


def name_this_thread(name: str) -> None:
    """Give the running thread this name, of which the system keeps 15 bytes. Does nothing on other systems
    than Linux.
    """
    with suppress(OSError):
        _OWN_NAME.write_text(name)

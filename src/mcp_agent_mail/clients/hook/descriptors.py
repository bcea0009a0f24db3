"""To a descriptor, whole: one write may take a part. What it took has left this process."""

from __future__ import annotations

import os
import select
import time

PIECE_BYTES = 4096
"""What a pipe takes at once where it says that it has room (PIPE_BUF of Linux)."""


def write_all(descriptor: int, content: bytes) -> None:
    """Raises OSError. A disk with room for a part takes that, and says no at the next write alone."""
    while content:
        content = content[os.write(descriptor, content) :]


def write_words(descriptor: int, words: str) -> bool:
    """Whether all of it has left: straight to the descriptor, without a buffer."""
    try:
        write_all(descriptor, words.encode("utf-8", "backslashreplace"))
    except OSError:
        return False
    return True


def write_words_within(descriptor: int, words: str, seconds: float) -> bool:
    """As `write_words`, where perhaps nobody reads: False once so many seconds have passed."""
    content = words.encode("utf-8", "backslashreplace")
    until = time.monotonic() + seconds
    try:
        while content:
            left_s = max(0.0, until - time.monotonic())
            if not select.select([], [descriptor], [], left_s)[1]:
                return False
            content = content[os.write(descriptor, content[:PIECE_BYTES]) :]
    except (OSError, ValueError):
        return False
    return True

"""To a descriptor, whole: one write may take a part. What it took has left this process."""

from __future__ import annotations

import os


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

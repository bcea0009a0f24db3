"""Where a repository begins, as far as its `.git` says: for names and places, not to run Git in. Little of the standard
library: hooks and shells of agents wait for it.
"""

from __future__ import annotations

import os

_MAX_LEVELS = 128


def find_work_tree(folder: str) -> str | None:
    """The nearest folder with a `.git`, a file or a folder, from this one upwards; None where there is none."""
    here = os.path.realpath(folder)
    for _ in range(_MAX_LEVELS):
        if os.path.lexists(f"{here.rstrip('/')}/.git"):
            return here
        above = os.path.dirname(here)  # noqa: PTH120  # starts faster
        if above == here:
            break
        here = above
    return None

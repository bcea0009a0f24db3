"""Names of what is kept one after the other: the time, for people, and a running number, which says what is newer.

A clock may be set back; the number never falls while there is something to count. Names of before there were numbers
are older than all that have one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

_NUMBER = re.compile(r"-n(\d{1,15})\Z")


def next_name(time: str, others: Iterable[str]) -> str:
    """A name that is newer than all the `others`, among which it is to lie."""
    return f"{time}-n{max(map(number_in, others), default=0) + 1}"


def number_in(name: str) -> int:
    """0 for a name without one."""
    found = _NUMBER.search(name)
    return 0 if found is None else int(found[1])


def oldest_first(paths: Iterable[Path]) -> list[Path]:
    """By number; those without one come first, by the time in their names."""
    return sorted(paths, key=lambda path: (number_in(path.name), path.name))

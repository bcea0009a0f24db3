"""What stands in a session's file, looked at against the time: which runs of its hook ask the server just now, by their
entries (a process and when it began), and how long ago anything else was noted.
"""

from __future__ import annotations

import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    # Any: JSON of our own, of which every value is checked as it is read.
    Json = Any

_ASKED_FOR_S = 5.0
_MAX_ASKING = 16


def is_entry(one: Json) -> bool:
    return isinstance(one, list) and len(one) == 2 and isinstance(one[0], int) and isinstance(one[1], float)


def asking_in(state: dict[str, Json]) -> list[Json]:
    return [one for one in state.get("asking") or [] if is_entry(one)]


def begin_asking(state: dict[str, Json], entry: list[Json]) -> None:
    """Note a run in its session's state, before it asks for what may be given to it."""
    state["asking"] = [*asking_in(state), entry][-_MAX_ASKING:]


def end_asking(state: dict[str, Json], entry: list[Json], *, is_lost: bool = False) -> None:
    """Take the entry back. `is_lost`: who knows what was given and not told; the next count is said, whatever it is."""
    state["asking"] = [one for one in state.get("asking") or [] if one != entry]
    if is_lost:
        state["must"] = True


def is_alive(entry: list[Json], now: float) -> bool:
    """Is the run of an entry still at work?"""
    if not 0 <= now - entry[1] < _ASKED_FOR_S:
        return False
    try:
        os.kill(entry[0], 0)
    except (OSError, OverflowError):
        return False
    return True


def is_within(then: float, span_s: float) -> bool:
    """Was it so short a time ago? A time that is still to come is none: the clock was set back since."""
    return 0 <= time.time() - then < span_s


def seconds(values: list[Json]) -> float:
    return float(values[0]) if values and isinstance(values[0], (int, float)) else 0.0

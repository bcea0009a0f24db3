"""Times for people: how long ago on a terminal, the exact time when asked for or piped."""

from __future__ import annotations

from mcp_agent_mail.core.clock import SECOND, Clock, Micros, iso, parse_time

_MINUTE = 60
_HOUR = 60 * _MINUTE
_DAY = 24 * _HOUR
_LONGEST_DAYS = 60
"""Beyond that the date says more than the number of days."""


def exact_time(full: str) -> str:
    """`2026-11-21 20:38:11Z`. What is no time stays as it is."""
    try:
        shown = iso(parse_time(full))
    except ValueError:
        return full
    return f"{shown[:19].replace('T', ' ')}Z"


def age(full: str, now: Micros) -> str:
    """`12 s`, `2 min`, `3 h`, `5 d`, with `in` before what is still to come; a date beyond 60 days. Parts of a unit are
    dropped: 119 seconds are `1 min`. What is no time stays as it is.
    """
    try:
        seconds = (now - parse_time(full)) / SECOND
    except ValueError:
        return full
    passed = int(abs(seconds))
    if passed >= _LONGEST_DAYS * _DAY:
        return exact_time(full)[:10]
    for unit, length in (("d", _DAY), ("h", _HOUR), ("min", _MINUTE), ("s", 1)):
        if passed >= length:
            return f"{'in ' if seconds < 0 else ''}{passed // length} {unit}"
    return "now"


def time_and_age(full: str | None, *, clock: Clock) -> str | None:
    """`2026-11-21 20:38:11Z (2 min ago)`, for where there is room for both; None stays None."""
    if full is None:
        return None
    words = age(full, clock())
    exact = exact_time(full)
    if words == full or exact.startswith(words):
        return exact
    return f"{exact} ({words if words == 'now' or words.startswith('in ') else f'{words} ago'})"

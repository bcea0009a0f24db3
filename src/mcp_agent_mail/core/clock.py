"""Time: integer microseconds since the epoch (UTC) inside, ISO 8601 with offset outside."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import NewType

Micros = NewType("Micros", int)
"""Microseconds since 1970-01-01T00:00:00Z."""

Clock = Callable[[], Micros]

SECOND = 1_000_000
_MINUTE = 60 * SECOND
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_SECOND = int(datetime(1, 1, 1, tzinfo=UTC).timestamp())
_LAST_SECOND = int(datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC).timestamp())

LATEST = Micros(int(datetime(9999, 1, 1, tzinfo=UTC).timestamp()) * SECOND)
"""No store has a later time: what comes after it, or follows from it, is to be in the calendar too."""


def system_clock() -> Micros:
    """The wall clock. It can step backwards: order by `delivery_seq` or ids, never by time alone."""
    return Micros(time.time_ns() // 1_000)


def to_datetime(at: Micros) -> datetime:
    return _EPOCH + timedelta(microseconds=at)


def iso(at: Micros) -> str:
    """`2026-11-21T20:38:32.123456+00:00`, always with six decimals, so that text sorts as time."""
    minute, left = divmod(at, _MINUTE)
    seconds, micros = divmod(left, SECOND)
    return f"{_minute_text(minute)}:{seconds:02d}.{micros:06d}+00:00"


@lru_cache(maxsize=1_024)
def _minute_text(number: int) -> str:
    """`2026-11-21T20:38`: most times that are shown together are of few minutes."""
    return (_EPOCH + timedelta(minutes=number)).isoformat(timespec="minutes").removesuffix("+00:00")


def iso_or_none(at: Micros | None) -> str | None:
    return None if at is None else iso(at)


def from_datetime(at: datetime) -> Micros:
    """Microseconds since 1970 in UTC; a time without a zone is taken as UTC."""
    aware = at if at.tzinfo else at.replace(tzinfo=UTC)
    return Micros((aware - _EPOCH) // timedelta(microseconds=1))


def from_seconds(seconds: int) -> Micros:
    """Of a time that Git tells, which may be a stranger's; what the calendar cannot hold becomes its last second."""
    return Micros(min(max(seconds, 0), _LAST_SECOND) * SECOND)


def parse_time(text: str) -> Micros:
    """ISO 8601 (`Z`, offset, none = UTC, date alone = midnight UTC) or epoch seconds.

    Raises ValueError for anything else and for times that SQLite's 64-bit integers or
    Python's calendar cannot hold: whatever comes back can be shown by `iso`.
    """
    cleaned = text.strip()
    try:
        seconds = float(cleaned)
    except ValueError:
        at = from_datetime(datetime.fromisoformat(cleaned))
        # By its offset it may lie beyond the first or the last year.
        if not _FIRST_SECOND <= at // SECOND <= _LAST_SECOND:
            raise ValueError(f"{text!r} is beyond the calendar") from None
        return at
    try:
        return from_datetime(_EPOCH + timedelta(seconds=seconds))
    except OverflowError as overflow:
        raise ValueError(f"{text!r} is beyond the calendar") from overflow

"""A number of seconds as a server says it, which may be any server's: read here, and nowhere else."""

from __future__ import annotations

LONGEST_S = 86_400
"""What is longer counts as this: nobody waits for more than a day."""
_MOST_DIGITS = 9


def seconds_in(said: object) -> float | None:
    """The seconds of a JSON number, from 0 to LONGEST_S; None for anything else. It is bounded before it is converted:
    an integer may be too large for a float.
    """
    if isinstance(said, bool) or not isinstance(said, int | float) or said != said:  # noqa: PLR0124  # not a number
        return None
    return float(min(max(0, said), LONGEST_S))


def whole_seconds_in(header: str) -> int | None:
    """The seconds of a `Retry-After`; None for a date and for what is none."""
    if not (header.isascii() and header.isdigit()):
        return None
    digits = header.lstrip("0") or "0"
    return LONGEST_S if len(digits) > _MOST_DIGITS else min(int(digits), LONGEST_S)

"""What a text or a number has to be that comes back to whoever sent it: an id, or a token of progress."""

from __future__ import annotations

from typing import TypeGuard

_MOST = 1 << 53
"""Larger numbers are not the same in every JSON parser, and some cannot be written."""


def is_id(value: object) -> TypeGuard[str | int]:
    if isinstance(value, bool):
        return False
    return isinstance(value, str) or (isinstance(value, int) and abs(value) <= _MOST)

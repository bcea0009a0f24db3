"""What an id of JSON-RPC is, and which of them, and of the tokens of progress, can be told to whoever sent them."""

from __future__ import annotations

from typing import TypeGuard

_MOST = 1 << 53
"""Larger numbers are not the same in every JSON parser, and some cannot be written."""


def is_id(value: object) -> TypeGuard[str | int]:
    """As the SDK takes one: a text or a whole number."""
    return isinstance(value, str | int) and not isinstance(value, bool)


def is_told_back(value: object) -> TypeGuard[str | int]:
    """Whether whoever sent it knows it again."""
    return is_id(value) and (isinstance(value, str) or abs(value) <= _MOST)

"""How large the store may become and how much of its disk it leaves free: when that is passed, and when it is over."""

from __future__ import annotations

from enum import StrEnum

from mcp_agent_mail.core.lazy.dataclass import dataclass

_SHARE = 50
"""A limit that was passed holds until there is a fiftieth of it more room: nothing switches on and off at its edge."""
_MOST_BYTES = 64 * 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreLimits:
    """In bytes. `min_free` 0 is no limit."""

    max_used: int
    min_free: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreSize:
    """In bytes: what everything of the store takes on disk, and what its disk has left for it."""

    used: int
    free: int


class Shortage(StrEnum):
    """Why the store may not grow."""

    TOO_LARGE = "too large"
    DISK_FULL = "disk full"


def find_shortage(limits: StoreLimits, size: StoreSize, before: Shortage | None) -> Shortage | None:
    """What is short now, after `before`: that lasts until there is a little more room than the limit asks for. The
    disk comes first: no limit of ours makes room on it.
    """
    min_free = limits.min_free + (_margin(limits.min_free) if before is Shortage.DISK_FULL else 0)
    if size.free < min_free:
        return Shortage.DISK_FULL
    max_used = limits.max_used - (_margin(limits.max_used) if before is Shortage.TOO_LARGE else 0)
    return Shortage.TOO_LARGE if size.used > max_used else None


def _margin(limit: int) -> int:
    return min(limit // _SHARE, _MOST_BYTES)

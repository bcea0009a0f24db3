"""Whether the store may grow: told by what measures it, asked by every unit of work that adds something."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcp_agent_mail.core.errors import Busy, QuotaExceeded
from mcp_agent_mail.domain.store_limits import Shortage, StoreLimits, StoreSize, find_shortage

RETRY_AFTER_S = 30
"""A disk fills and empties in minutes; asking more often tells nothing new."""

_GOES_ON = "Reading, marking, acknowledging and releasing go on."


class StoreTooLarge(QuotaExceeded):
    """Everything below STORAGE_ROOT takes more than STORE_MAX_BYTES."""


class DiskTooFull(Busy):
    """The disk below STORAGE_ROOT has less than STORE_MIN_FREE_BYTES left."""


class GrowthLimit:
    """Nothing is short until `note` has said so. It is told on the event loop and asked on any thread."""

    def __init__(self) -> None:
        self._told: tuple[Shortage, StoreLimits, StoreSize] | None = None
        self._measured: tuple[StoreLimits, StoreSize] | None = None

    @property
    def shortage(self) -> Shortage | None:
        return None if self._told is None else self._told[0]

    @property
    def problem(self) -> str | None:
        """What is short and what to do about it; None while nothing is."""
        refusal = self._refusal()
        return None if refusal is None else refusal.text

    def note(self, shortage: Shortage | None, limits: StoreLimits, size: StoreSize) -> None:
        """From now on this is short, as measured; None: nothing."""
        self._told = None if shortage is None else (shortage, limits, size)
        self._measured = (limits, size)

    def require(self, more_bytes: int = 0) -> None:
        """Return where the store may grow, by so much as it was measured last. Raises StoreTooLarge, DiskTooFull."""
        refusal = self._refusal() or self._refusal_of(more_bytes)
        if refusal is not None:
            raise refusal

    def _refusal_of(self, more_bytes: int) -> StoreTooLarge | DiskTooFull | None:
        if self._measured is None or more_bytes <= 0:
            return None
        limits, size = self._measured
        then = StoreSize(used=size.used + more_bytes, free=size.free - more_bytes)
        shortage = find_shortage(limits, then, None)
        if shortage is None:
            return None
        return _too_full(limits, size) if shortage is Shortage.DISK_FULL else _too_large(limits, size)

    def _refusal(self) -> StoreTooLarge | DiskTooFull | None:
        told = self._told
        if told is None:
            return None
        shortage, limits, size = told
        return _too_full(limits, size) if shortage is Shortage.DISK_FULL else _too_large(limits, size)


def _too_large(limits: StoreLimits, size: StoreSize) -> StoreTooLarge:
    data: Mapping[str, Any] = {"setting": "STORE_MAX_BYTES", "max": limits.max_used, "used_bytes": size.used}
    return StoreTooLarge(
        f"The store takes {_mib(size.used)} of the {_mib(limits.max_used)} that it may.",
        hint=f"{_GOES_ON} The operator makes room (RETENTION_PURGE_ENABLED does) or raises STORE_MAX_BYTES.",
        data=data,
    )


def _too_full(limits: StoreLimits, size: StoreSize) -> DiskTooFull:
    return DiskTooFull(
        f"The disk of the store has {_mib(size.free)} left; {_mib(limits.min_free)} are to stay free.",
        first="Free some space on the disk of the store.",
        retry_after_s=RETRY_AFTER_S,
        otherwise=f". {_GOES_ON.removesuffix('.')}",
        data={"setting": "STORE_MIN_FREE_BYTES", "min": limits.min_free, "free_bytes": size.free},
    )


def _mib(count: int) -> str:
    return f"{count / 2**20:,.1f} MiB"

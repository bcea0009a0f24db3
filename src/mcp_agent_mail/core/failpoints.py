"""Named instants where a test may crash or break the product; in service they do nothing.

Product code says `self._reach(FailPoint.AFTER_COMMIT)`; only `bootstrap` decides what that does.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum


class FailPoint(StrEnum):
    IN_UNIT = "in-unit"
    BEFORE_COMMIT = "before-commit"
    AFTER_COMMIT = "after-commit"
    BEFORE_IMPORT = "before-import"
    AFTER_IMPORT = "after-import"
    BEFORE_MARK = "before-mark"
    INDEX_REFRESH = "index-refresh"
    REPACK = "repack"
    REPACK_DELETE = "repack-delete"
    THINNING = "thinning"
    THINNED = "thinned"
    MIGRATION = "migration"
    DRAIN = "drain"


Reach = Callable[[FailPoint], None]
"""Called when an instant is reached; it may raise or end the process."""


def no_fault(point: FailPoint) -> None:
    """The `Reach` of a server in service."""

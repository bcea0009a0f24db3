"""Named instants where a test may crash or break the product; in service they do nothing.

Product code says `self._reach(FailPoint.AFTER_COMMIT)`; what that does is decided by whoever builds the
services. Nothing here looks at the environment: the command line has no way in.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from enum import StrEnum

from mcp_agent_mail.core.lazy.dataclass import dataclass


class FailPoint(StrEnum):
    """The server's (START once per thing it opens, STOP before and after the drain), then the archiver's."""

    START = "start"
    MIGRATION = "migration"
    IN_UNIT = "in-unit"
    BEFORE_COMMIT = "before-commit"
    AFTER_COMMIT = "after-commit"
    CONTENT_STAGED = "content-staged"
    CONTENT_NAMED = "content-named"
    CONTENT_KEPT = "content-kept"
    BACKUP_DATABASE = "backup-database"
    BACKUP_FILE = "backup-file"
    BACKUP_WRITTEN = "backup-written"
    BACKUP_VERIFIED = "backup-verified"
    BACKUP_NAMED = "backup-named"
    BACKUP_LEAVING = "backup-leaving"
    RESTORE_BUILT = "restore-built"
    REBUILT = "rebuilt"
    SWAP_BEGUN = "swap-begun"
    SWAP_KEPT = "swap-kept"
    SWAP_MOVED = "swap-moved"
    SWAP_PLACED = "swap-placed"
    STOP = "stop"
    RESUME = "resume"
    BEFORE_IMPORT = "before-import"
    AFTER_IMPORT = "after-import"
    BEFORE_MARK = "before-mark"
    INDEX_REFRESH = "index-refresh"
    INDEX_REPLACE = "index-replace"
    INDEX_REFRESHED = "index-refreshed"
    REPACK = "repack"
    REPACK_DELETE = "repack-delete"
    THINNING = "thinning"
    THINNED = "thinned"
    CONVERSION = "conversion"
    CONVERSION_SHOWN = "conversion-shown"
    DRAIN = "drain"
    UNUSED_REMOVED = "unused-removed"
    SAVE = "save"
    SAVE_STAGED = "save-staged"
    SAVE_NAMED = "save-named"
    SETUP_KEEPING = "setup-keeping"
    SETUP_HELD = "setup-held"
    SETUP_NOTED = "setup-noted"
    SETUP_STAGED = "setup-staged"
    SETUP_NAMED = "setup-named"
    SETUP_WRITTEN = "setup-written"
    SETUP_TAKEN_BACK = "setup-taken-back"
    SETUP_LEAVING = "setup-leaving"


FaultHook = Callable[[FailPoint], None]
"""Called when an instant is reached; it may raise or end the process."""


def no_fault(point: FailPoint) -> None:
    """The `FaultHook` of a server in service."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kill:
    """The process ends itself as by `kill -9` when it reaches `point` for the `nth` time."""

    point: FailPoint
    nth: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Faults:
    """What is to happen to a server: `fault_hook` in its own process, `archiver` to each archiver that it starts."""

    fault_hook: FaultHook = no_fault
    archiver: Kill | None = None


NO_FAULTS = Faults()


def reach_that_kills(kill: Kill | None) -> FaultHook:
    """A hook that ends this process as `kill -9` does at the instant that `kill` names; without one, a hook that does
    nothing.
    """
    if kill is None:
        return no_fault
    left = kill.nth

    def fault_hook(reached: FailPoint) -> None:
        nonlocal left
        left -= reached is kill.point
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    return fault_hook

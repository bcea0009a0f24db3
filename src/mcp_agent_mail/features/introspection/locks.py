"""The kernel locks of a store, and who holds them."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

from mcp_agent_mail.core.clock import Clock, Micros
from mcp_agent_mail.core.lazy.dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownLock:
    """A lock file of ours. `owner_pid` asks who holds it now; None when nobody does, or nobody can say."""

    path: Path
    category: Literal["store", "archive"]
    owner_pid: Callable[[], int | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class LockState:
    """`created_ts` is the lock file's; kernel locks are free the instant their holder ends, so none is ever stale."""

    path: Path
    category: str
    owner_pid: int | None
    owner_alive: bool
    created_ts: Micros
    age_s: float


def look_at(locks: Sequence[KnownLock], clock: Clock) -> list[LockState]:
    """The state of each lock whose file is there."""
    now = clock()
    states = []
    for lock in locks:
        try:
            made = Micros(lock.path.stat().st_mtime_ns // 1_000)
        except FileNotFoundError:
            continue
        pid = lock.owner_pid()
        states.append(
            LockState(
                path=lock.path,
                category=lock.category,
                owner_pid=pid,
                owner_alive=pid is not None and _is_alive(pid),
                created_ts=made,
                age_s=max(0.0, (now - made) / 1_000_000),
            )
        )
    return states


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True

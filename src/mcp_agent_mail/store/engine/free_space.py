"""What fails for want of room, in SQLite, Git or the operating system, is told as that: which disk, and what to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mcp_agent_mail.core.disk_space import HARDLY_ANY_BYTES, DiskFull, disk_full, free_bytes, is_want_of_room
from mcp_agent_mail.core.git.process import GitDiskFull
from mcp_agent_mail.store.engine.sqlite.faults import causes_of, is_full, is_outside_fault


@contextmanager
def told_when_full(*places: Path) -> Iterator[None]:
    """Inside, a failure for want of room is raised as DiskFull. Of several `places` (the store's folder, its database)
    the one with the least room is meant, unless it is known where Git lacked it.
    """
    try:
        yield
    except DiskFull:
        raise  # It is known of which.
    except Exception as error:
        fullest = min(places, key=free_bytes)
        has_any = free_bytes(fullest) > HARDLY_ANY_BYTES
        for one in causes_of(error):
            if isinstance(one, GitDiskFull):
                raise disk_full(one.place or fullest) from error
            if _tells_of_it(one, has_any=has_any):
                raise disk_full(fullest) from error
        raise


def _tells_of_it(error: BaseException, *, has_any: bool) -> bool:
    return is_full(error) or is_want_of_room(error) or (not has_any and is_outside_fault(error))

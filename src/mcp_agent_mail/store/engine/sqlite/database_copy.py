"""A copy of a database in use: one instant of it, taken a little at a time, so that whoever writes is not held up."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from mcp_agent_mail.core.errors import Unavailable
from mcp_agent_mail.core.failpoints import FailPoint, FaultHook, no_fault
from mcp_agent_mail.store.engine.sqlite.connection import open_reading
from mcp_agent_mail.store.engine.sqlite.faults import WAYS_BACK, is_damage
from mcp_agent_mail.store.engine.sqlite.migrate import require_ours

_PAGES_AT_ONCE = 256
_SYNCED_EVERY = 16
_PAUSE_S = 0.004
_OWNER_ONLY = 0o600


class CopyFailed(Unavailable):
    """SQLite could not read all of the database, or not write the copy."""


def _next_step(failed: sqlite3.Error) -> str:
    if is_damage(failed):
        return f"The database is damaged; stop the server, if one runs. {WAYS_BACK}"
    return "Free some space on that disk. `am doctor check` says whether the database is at fault."


Progress = Callable[[int, int], None]


def copy_database(
    source: Path,
    target: Path,
    *,
    pause_s: float = _PAUSE_S,
    progress: Progress = lambda _done, _total: None,
    fault_hook: FaultHook = no_fault,
) -> None:
    """Make `target`, which is not there, from the database at `source` as it is now, with or without a server.

    What is committed after this is called is not in it. Its writer goes on meanwhile; its log grows until the end.
    On disk when this returns, mode 0600, without a log beside it. Raises StoreRefused for another program's file.
    """
    require_ours(source)
    descriptor = os.open(target, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _OWNER_ONLY)
    steps = 0

    def between(_status: int, remaining: int, total: int) -> None:
        nonlocal steps
        steps += 1
        fault_hook(FailPoint.BACKUP_DATABASE)
        progress(total - remaining, total)
        # A file that is written out at its end alone would hold up the writer's own COMMIT then.
        if steps % _SYNCED_EVERY == 0:
            os.fsync(descriptor)
        if remaining:
            time.sleep(pause_s)

    try:
        with closing(open_reading(source)) as reading, closing(sqlite3.connect(target, isolation_level=None)) as copy:
            copy.execute("PRAGMA synchronous=OFF")
            # The instant that is copied: a transaction begins with its first look.
            reading.execute("BEGIN")
            reading.execute("SELECT count(*) FROM sqlite_schema").fetchone()
            reading.backup(copy, pages=_PAGES_AT_ONCE, progress=between)
            copy.execute("PRAGMA journal_mode=DELETE")
        os.fsync(descriptor)
    except sqlite3.Error as failed:
        raise CopyFailed(
            f"{source} could not be copied to {target}: {failed}.",
            hint=_next_step(failed),
            data={"path": str(source)},
        ) from failed
    finally:
        os.close(descriptor)

"""Keeps the log file of a server in the background within bounds.

`am serve --stdio` starts servers whose stderr is STORAGE_ROOT/server.log. Nobody rotates that file
but us. It is copied and cut, not renamed: the archiver and Python's own last words write to it too,
all of them appending.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from mcp_agent_mail.core.concurrency.keeper import Keeper
from mcp_agent_mail.core.concurrency.periodic_work import Periodic
from mcp_agent_mail.core.store_owner import LOG_FILE

MAX_BYTES = 4 * 1024 * 1024
_LOOK_EVERY_S = 10.0
_STDERR = 2


@asynccontextmanager
async def bounded_log(storage_root: Path) -> AsyncIterator[Keeper | None]:
    """While it is open, `server.log` is cut when it gets long. None: our stderr is something else, nothing happens."""
    log = storage_root / LOG_FILE
    if not _is_our_stderr(log):
        yield None
        return
    cut_log(log)

    async def cut() -> None:
        cut_log(log)

    keeper = Periodic("server-log", cut, interval_s=_LOOK_EVERY_S)
    keeper.start()
    try:
        yield keeper
    finally:
        await keeper.stop()


def cut_log(log: Path, max_bytes: int = MAX_BYTES) -> None:
    """Keep the file under `max_bytes` by moving what is in it to `server.log.1`, which it replaces."""
    with log.open("r+b") as file:
        if os.fstat(file.fileno()).st_size > max_bytes:
            shutil.copyfile(log, log.with_name(f"{log.name}.1"))
            file.truncate(0)


def _is_our_stderr(log: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(_STDERR), log.stat())
    except OSError:  # There is no such log, or no stderr.
        return False

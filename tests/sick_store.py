"""A store that cannot be written for a while."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from mcp_agent_mail.core.failpoints import FailPoint
from mcp_agent_mail.store.database import Store


@contextmanager
def full_disk(store: Store) -> Iterator[None]:
    """Inside, each COMMIT ends as on a disk without room."""
    writer = store._writer
    before = writer._fault_hook

    def fail(reached: FailPoint) -> None:
        if reached is FailPoint.BEFORE_COMMIT:
            error = sqlite3.OperationalError("database or disk is full")
            error.sqlite_errorcode = sqlite3.SQLITE_FULL
            raise error

    writer._fault_hook = fail
    try:
        yield
    finally:
        writer._fault_hook = before

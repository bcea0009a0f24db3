"""A database of one table, and what tests of long reads ask of it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from mcp_agent_mail.store.engine.port import Connection, TimeBound

NUMBERS = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n"
ENDLESS = f"SELECT count(*) FROM ({NUMBERS})"


def asking(sql: str) -> Callable[[Connection, TimeBound], list[Any]]:
    return lambda connection, _: connection.execute(sql).fetchall()


def this_thread(_: Connection, __: TimeBound) -> threading.Thread:
    return threading.current_thread()

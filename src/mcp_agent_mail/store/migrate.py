"""Numbered, forward-only migrations under `PRAGMA user_version`."""

from __future__ import annotations

import sqlite3
from importlib.resources import files
from pathlib import Path

from mcp_agent_mail.core.failpoints import FailPoint, Reach
from mcp_agent_mail.core.ids import new_store_id


def migrate(connection: sqlite3.Connection, path: Path, *, reach: Reach) -> None:
    """Bring the store to the newest schema. (Placeholder until the store slice lands: no copy, no refusal yet.)"""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version == 0:
        sql = (files("mcp_agent_mail.store") / "schema" / "0001_foundation.sql").read_text()
        connection.executescript(f"BEGIN IMMEDIATE; {sql}; PRAGMA user_version=1; COMMIT;")
        connection.execute("INSERT INTO meta (key, value) VALUES ('store_id', ?)", (new_store_id(),))
    reach(FailPoint.MIGRATION)

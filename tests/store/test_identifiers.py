"""Names of code in mail that was there before they were kept."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from mcp_agent_mail.core.failpoints import no_fault
from mcp_agent_mail.store.connection import add_functions
from mcp_agent_mail.store.migrate import apply_migration, shipped_migrations
from tests.mailroom import open_mailroom

_KEEPING = next(one for one in shipped_migrations() if "CREATE TABLE identifiers" in one.sql)


async def test_names_in_older_mail_are_kept_once_by_the_migration(tmp_path: Path) -> None:
    async with open_mailroom(tmp_path) as room:
        for _ in range(2):
            await room.post(replace(room.letter(room.blue), subject="reparseToken"), *room.addressed([room.red]))

    with closing(sqlite3.connect(tmp_path / "mail.sqlite3", isolation_level=None)) as connection:
        add_functions(connection)
        for kind, name in (("TRIGGER", "messages_identifiers"), ("TABLE", "identifiers_fts"), ("TABLE", "identifiers")):
            connection.execute(f"DROP {kind} {name}")
        apply_migration(connection, _KEEPING, no_fault)

        found = connection.execute("SELECT name FROM identifiers_fts WHERE identifiers_fts MATCH 'parseTok' LIMIT 9")
        assert found.fetchall() == [("reparsetoken",)]

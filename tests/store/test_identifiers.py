"""Names of code in mail that was there before they were kept."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from mcp_agent_mail.core.failpoints import no_fault
from mcp_agent_mail.store.engine.sqlite.connection import add_functions
from mcp_agent_mail.store.engine.sqlite.migrate import apply_migration, shipped_migrations
from tests.seeded_store import open_seeded_store
from tests.store.older_stores import copy_rows

_SCOPING = next(one for one in shipped_migrations() if "identifiers_delete" in one.sql)


async def test_names_in_older_mail_are_kept_once_by_the_migration(tmp_path: Path) -> None:
    async with open_seeded_store(tmp_path) as seeded:
        for _ in range(2):
            await seeded.post(
                replace(seeded.letter(seeded.blue), subject="reparseToken"), *seeded.addressed([seeded.red])
            )

    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        add_functions(connection)
        for migration in shipped_migrations()[: _SCOPING.version - 1]:
            apply_migration(connection, migration, no_fault)
        connection.execute("ATTACH ? AS room", (str(tmp_path / "mail.sqlite3"),))
        for table in ("projects", "agents", "messages"):
            copy_rows(connection, table)
        home = "project_id, message_id, delivered_ts"
        connection.execute(f"INSERT INTO message_projects ({home}) SELECT {home} FROM room.message_projects")
        apply_migration(connection, _SCOPING, no_fault)

        found = connection.execute("SELECT name, scope FROM identifiers_fts WHERE identifiers_fts MATCH 'parseTok'")
        assert found.fetchall() == [("reparsetoken", f"p{seeded.app.id}.")]

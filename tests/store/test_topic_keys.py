"""Mail that was there before topics had keys has the keys that it would get today."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from mcp_agent_mail.core.failpoints import no_fault
from mcp_agent_mail.store.engine.sqlite.connection import add_functions
from mcp_agent_mail.store.engine.sqlite.migrate import apply_migration, shipped_migrations
from tests.seeded_store import open_seeded_store
from tests.store.older_stores import copy_rows

_KEYING = next(one for one in shipped_migrations() if "topic_key" in one.sql)
_OF = {
    "message_projects": "project_id, message_id, delivered_ts, delivery_seq",
    "recipients": "message_id, agent_id, kind, position, delivery_seq, delivered_ts, urgent, ack_required",
}


async def test_the_topics_of_older_mail_get_the_keys_that_new_mail_has(tmp_path: Path) -> None:
    async with open_seeded_store(tmp_path) as seeded:
        for topic in ("Build", None, "bUILD-2._Z"):
            await seeded.post(seeded.letter(seeded.blue, topic=topic), *seeded.addressed([seeded.red]))

    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        add_functions(connection)
        for migration in shipped_migrations()[: _KEYING.version - 1]:
            apply_migration(connection, migration, no_fault)
        connection.execute("ATTACH ? AS room", (str(tmp_path / "mail.sqlite3"),))
        for table in ("projects", "agents", "messages"):
            copy_rows(connection, table)
        for table, columns in _OF.items():
            connection.execute(
                f"INSERT INTO {table} ({columns}, topic) SELECT r.{columns.replace(', ', ', r.')}, m.topic "
                f"FROM room.{table} r JOIN room.messages m ON m.id = r.message_id"
            )
        apply_migration(connection, _KEYING, no_fault)

        for table in _OF:
            keys = f"SELECT message_id, topic_key FROM {{}}.{table} ORDER BY message_id LIMIT 9"
            older, new = (connection.execute(keys.format(schema)).fetchall() for schema in ("main", "room"))
            assert older == new
            assert [key for _, key in older] == ["build", None, "build-2._z"]

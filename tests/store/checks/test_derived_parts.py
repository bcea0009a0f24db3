from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from mcp_agent_mail.store.checks.derived_parts import REWRITTEN, DerivedUnwritable, rewrite_derived
from mcp_agent_mail.store.checks.integrity import DatabasePart, find_faults
from mcp_agent_mail.store.engine.sqlite.connection import add_functions
from tests.store_templates import blank_store

SPOILED = {
    DatabasePart.COUNTERS: "UPDATE counters SET value = -5 WHERE name = 'delivery'",
    DatabasePart.SEARCH_INDEX: "INSERT INTO identifiers_fts (rowid, name, scope) VALUES (77, 'nobody_said_it', 'p1.')",
}


@pytest.mark.parametrize("part", SPOILED)
def test_what_is_made_anew_is_sound(part: DatabasePart, tmp_path: Path) -> None:
    database = tmp_path / "mail.sqlite3"
    blank_store().lay(database)
    with closing(sqlite3.connect(database)) as connection, connection:
        add_functions(connection)
        connection.execute(SPOILED[part])
    assert {fault.part for fault in find_faults(database)} == {part}

    rewrite_derived(database, REWRITTEN)

    assert find_faults(database) == []


def test_what_cannot_be_made_anew_is_as_it_was(tmp_path: Path) -> None:
    database = tmp_path / "mail.sqlite3"
    blank_store().lay(database)
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("UPDATE counters SET value = -5 WHERE name = 'delivery'")
        connection.execute("DROP TABLE identifiers")

    with pytest.raises(DerivedUnwritable):
        rewrite_derived(database, REWRITTEN)

    with closing(sqlite3.connect(database)) as connection:
        assert connection.execute("SELECT value FROM counters WHERE name = 'delivery'").fetchone() == (-5,)

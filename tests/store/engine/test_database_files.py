"""What is written beside a database is known as the database's by its name."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from mcp_agent_mail.core.failpoints import no_fault
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.engine.database_files import beside, hidden_beside, is_of_database, kept_folder
from mcp_agent_mail.store.engine.lock import StoreLock
from mcp_agent_mail.store.engine.migrate import keep_copy, migrate
from tests.names_beside import NamesBeside


@pytest.mark.parametrize("name", ["mail.db", "store", "Mail"])
def test_each_name_that_is_given_is_known_again_in_any_letter_case(name: str) -> None:
    database = Path("/folder") / name
    given = [database, beside(database, "-wal"), beside(database, ".x-1"), hidden_beside(database, ".building")]

    names = [path.name for path in (*given, kept_folder(database.parent))]
    assert [one for one in (*names, *map(str.upper, names)) if not is_of_database(one, name)] == []


@pytest.mark.parametrize("name", ["mailer.txt", "mail_notes", ".mail", ".mailrc", "a.mail", "keptx", ".kept", ""])
def test_what_only_looks_like_it_is_somebody_elses(name: str) -> None:
    assert not is_of_database(name, "mail")


async def test_an_open_store_its_lock_and_its_copies_are_known_by_their_names(tmp_path: Path) -> None:
    database = tmp_path / "apart" / "mail.db"
    names = NamesBeside(database)
    with StoreLock(tmp_path / "root", database) as lock:
        migrate(database, fault_hook=names)
        lock.announce("http://127.0.0.1:1/mcp")
        async with Store(database) as store:
            await store.write(lambda tx: tx.meta.store_id())
            names()
        with closing(sqlite3.connect(database)) as connection:
            keep_copy(connection, database, before=7)
        migrate(database, fault_hook=no_fault)
        names()

    assert names.strangers() == []
    assert {"mail.db.new", "mail.db.lock", "mail.db.lock.json", "mail.db-wal", "mail.db.before-0007"} <= names.seen

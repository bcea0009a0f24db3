"""What is written beside a database is known as the database's by its name."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from pathlib import Path

import pytest

from mcp_agent_mail.core.failpoints import no_fault
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.engine.lock import StoreLock
from mcp_agent_mail.store.engine.sqlite.database_files import beside, hidden_beside, is_of_database, kept_folder
from mcp_agent_mail.store.engine.sqlite.faults import DatabaseTakenAway, StoreDamaged
from mcp_agent_mail.store.engine.sqlite.migrate import keep_copy, migrate
from mcp_agent_mail.store.transaction import View
from tests.names_beside import NamesBeside
from tests.seeded_store import SeededStore, open_seeded_store


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


ENDS = ("", "-wal", "-shm")


@pytest.fixture
async def seeded(tmp_path: Path) -> AsyncIterator[SeededStore]:
    async with open_seeded_store(tmp_path) as opened:
        yield opened


async def write(seeded: SeededStore, times: int = 1) -> None:
    for _ in range(times):
        await seeded.store.write(lambda tx: tx.meta.note_check(tx.now))


def name_of(seeded: SeededStore, end: str) -> Path:
    return seeded.store.path.with_name(f"{seeded.store.path.name}{end}")


@pytest.mark.parametrize("ends", [("",), ("-wal",), ("-shm",), ENDS])
async def test_a_deleted_file_ends_all_writing_and_no_reading(seeded: SeededStore, ends: tuple[str, ...]) -> None:
    await write(seeded)
    for end in ends:
        name_of(seeded, end).unlink()

    with pytest.raises(DatabaseTakenAway) as refused:
        await write(seeded, times=2)

    assert refused.value.data == {"path": str(name_of(seeded, ends[0]))}
    assert ("am doctor restore BACKUP" in refused.value.hint) is (ends[0] == "")
    assert refused.value.text == seeded.store.problem
    assert await seeded.store.read(lambda view: view.agents.find(seeded.blue.id)) == seeded.blue


async def test_a_file_with_the_same_bytes_in_its_place_is_another_one(seeded: SeededStore) -> None:
    await write(seeded)
    shutil.copy(seeded.store.path, copy := name_of(seeded, ".copy"))
    copy.replace(seeded.store.path)

    with pytest.raises(DatabaseTakenAway):
        await write(seeded)


async def test_once_the_very_file_is_back_all_goes_on_and_what_was_owed_is_stored(seeded: SeededStore) -> None:
    away = seeded.store.path.rename(name_of(seeded, ".away"))
    stored = asyncio.get_running_loop().create_future()
    for _ in range(8):
        with pytest.raises(DatabaseTakenAway):
            await write(seeded)
    seeded.store.write_soon(lambda tx: tx.meta.note_check(tx.now), stored.set_result)
    with pytest.raises(DatabaseTakenAway):
        await write(seeded)

    away.rename(seeded.store.path)
    await write(seeded)
    await stored

    assert seeded.store.problem is None


async def test_nothing_of_a_refused_write_is_kept(seeded: SeededStore) -> None:
    at = await seeded.store.read(lambda view: view.meta.checked_at())
    away = seeded.store.path.rename(name_of(seeded, ".away"))
    with pytest.raises(DatabaseTakenAway):
        await write(seeded)
    away.rename(seeded.store.path)

    assert await seeded.store.read(lambda view: view.meta.checked_at()) == at


def replace(seeded: SeededStore) -> None:
    """By a file that holds the same."""
    shutil.copy(seeded.store.path, copy := name_of(seeded, ".copy"))
    copy.replace(seeded.store.path)


def meet_damage(*_: object) -> None:
    malformed = sqlite3.DatabaseError("database disk image is malformed")
    malformed.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
    raise malformed


def look_aside(seeded: SeededStore, look: Callable[[View], None]) -> None:
    with seeded.store.view_aside() as view:
        look(view)


async def test_a_view_of_its_own_is_never_of_another_file(seeded: SeededStore) -> None:
    looks = list[View]()
    look_aside(seeded, looks.append)
    with pytest.raises(DatabaseTakenAway):
        look_aside(seeded, lambda _: replace(seeded))
    with pytest.raises(DatabaseTakenAway):
        look_aside(seeded, looks.append)

    assert len(looks) == 1


async def test_damage_that_is_met_while_another_file_is_there_is_told_as_that(seeded: SeededStore) -> None:
    def replace_and_meet_damage(_: View) -> None:
        replace(seeded)
        meet_damage()

    with pytest.raises(StoreDamaged):
        await seeded.store.read(meet_damage)
    with pytest.raises(DatabaseTakenAway):
        look_aside(seeded, replace_and_meet_damage)
    with pytest.raises(DatabaseTakenAway):
        await seeded.store.read(meet_damage)

from __future__ import annotations

import os
import resource
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from mcp_agent_mail.core.failpoints import FailPoint, no_fault
from mcp_agent_mail.core.file_sync import sync_path
from mcp_agent_mail.store.engine.sqlite import migrate as migrate_module
from mcp_agent_mail.store.engine.sqlite.connection import add_functions, open_writing
from mcp_agent_mail.store.engine.sqlite.migrate import (
    COPIES_KEPT,
    ForeignStore,
    Migration,
    MigrationFailed,
    NewerStore,
    migrate,
    shipped_migrations,
    statements_of,
)
from tests.store.engine.sqlite.hot_journal import write_hot_journal

_FIRST = Migration(
    version=1,
    sql="CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT) STRICT; -- with a comment; and a semicolon\n"
    "CREATE TABLE mail (id INTEGER PRIMARY KEY, text TEXT);\n",
)
_SECOND = Migration(version=2, sql="ALTER TABLE mail ADD COLUMN topic TEXT;\nUPDATE mail SET topic = 'none';\n")
_BROKEN = Migration(version=3, sql="ALTER TABLE mail ADD COLUMN half TEXT;\nUPDATE nowhere SET text = 'x';\n")


def schema_of(path: Path) -> list[tuple[str, str]]:
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name LIMIT 1000")
        return [(name, sql) for name, sql in rows]


def version_of(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        return int(connection.execute("PRAGMA user_version").fetchone()[0])


def store_id_of(path: Path) -> str:
    with closing(sqlite3.connect(path)) as connection:
        return str(connection.execute("SELECT value FROM meta WHERE key = 'store_id'").fetchone()[0])


def add_mail(path: Path, text: str) -> None:
    writing = open_writing(path)
    writing.execute("INSERT INTO mail (text) VALUES (?)", (text,))
    writing.commit()
    writing.close()


def mail_in(path: Path) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("SELECT * FROM mail ORDER BY id LIMIT 100").fetchall()


def bring(path: Path, *migrations: Migration) -> None:
    migrate(path, fault_hook=no_fault, migrations=migrations)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "mail.sqlite3"


def test_a_new_store_has_the_newest_schema_an_id_and_no_copy(path: Path) -> None:
    migrate(path, fault_hook=no_fault)

    assert version_of(path) == len(shipped_migrations())
    assert len(store_id_of(path)) == 36
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_store_migrated_step_by_step_equals_a_fresh_one(path: Path) -> None:
    shipped = shipped_migrations()
    fresh = path.with_name("fresh.sqlite3")
    migrate(fresh, fault_hook=no_fault)

    for count in range(1, len(shipped) + 1):
        bring(path, *shipped[:count])

    assert schema_of(path) == schema_of(fresh)


def test_a_migration_keeps_the_rows_and_the_id_and_leaves_a_copy_from_before(path: Path) -> None:
    bring(path, _FIRST)
    add_mail(path, "hello")
    store_id = store_id_of(path)

    bring(path, _FIRST, _SECOND)

    assert mail_in(path) == [(1, "hello", "none")]
    assert store_id_of(path) == store_id
    copy = path.with_name("mail.sqlite3.before-0002")
    assert mail_in(copy) == [(1, "hello")]
    assert version_of(copy) == 1
    assert copy.stat().st_mode & 0o777 == 0o600


def test_a_step_waits_for_the_disk_in_a_store_that_was_there_and_not_in_one_that_is_made(path: Path) -> None:
    notes = "INSERT INTO mail (text) SELECT synchronous FROM pragma_synchronous;\n"

    bring(path, _FIRST, Migration(version=2, sql=notes))
    bring(path, _FIRST, Migration(version=2, sql=notes), Migration(version=3, sql=notes))

    off, full = "0", "2"
    assert mail_in(path) == [(1, off), (2, full)]


def test_a_new_store_is_put_on_disk_with_every_folder_that_leads_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[Path] = []

    def watched(one: Path) -> None:
        synced.append(one)
        sync_path(one)

    monkeypatch.setattr(migrate_module, "sync_path", watched)
    path = tmp_path / "a" / "b" / "mail.sqlite3"

    bring(path, _FIRST)

    assert synced[0].name.startswith(path.name)
    assert {path.parent, *path.parent.parents} <= set(synced)


def test_a_store_of_the_newest_schema_is_not_copied(path: Path) -> None:
    bring(path, _FIRST)
    bring(path, _FIRST)

    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_a_failing_migration_leaves_the_store_as_it_was(path: Path) -> None:
    bring(path, _FIRST, _SECOND)
    before = schema_of(path)

    with pytest.raises(sqlite3.OperationalError, match="nowhere"):
        bring(path, _FIRST, _SECOND, _BROKEN)

    assert schema_of(path) == before
    assert version_of(path) == 2


def test_a_migration_stopped_before_its_commit_has_not_happened(path: Path) -> None:
    bring(path, _FIRST)
    add_mail(path, "hello")

    def stop(point: FailPoint) -> None:
        assert point is FailPoint.MIGRATION
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        migrate(path, fault_hook=stop, migrations=[_FIRST, _SECOND])

    assert version_of(path) == 1
    bring(path, _FIRST, _SECOND)
    assert mail_in(path) == [(1, "hello", "none")]


def test_a_store_whose_making_was_stopped_is_made_anew(path: Path) -> None:
    def stop(_: FailPoint) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        migrate(path, fault_hook=stop)
    assert not path.exists()

    migrate(path, fault_hook=no_fault)

    assert version_of(path) == len(shipped_migrations())


def test_a_new_store_is_made_without_a_journal_on_the_disk(path: Path) -> None:
    beside: set[str] = set()

    migrate(path, fault_hook=lambda _: beside.update(entry.name for entry in path.parent.iterdir()))

    assert len(beside) == 1
    assert version_of(path) == len(shipped_migrations())


def test_a_migration_that_breaks_references_is_refused(path: Path) -> None:
    parents = Migration(
        version=2,
        sql="CREATE TABLE parents (id INTEGER PRIMARY KEY);\n"
        "CREATE TABLE children (parent INTEGER REFERENCES parents (id));\n"
        "INSERT INTO children VALUES (7);\n",
    )
    bring(path, _FIRST)

    with pytest.raises(MigrationFailed, match="children"):
        bring(path, _FIRST, parents)

    assert version_of(path) == 1


def test_a_copy_that_finds_no_room_leaves_nothing_of_itself(path: Path) -> None:
    bring(path, _FIRST)
    add_mail(path, "hello" * 20_000)
    before = sorted(path.parent.iterdir())
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, hard))
    try:
        with pytest.raises(sqlite3.Error):
            bring(path, _FIRST, _SECOND)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    assert sorted(path.parent.iterdir()) == before
    assert version_of(path) == 1


def test_few_copies_are_kept(path: Path) -> None:
    def steps(count: int) -> Sequence[Migration]:
        more = (Migration(version=n, sql=f"CREATE TABLE t{n} (x);\n") for n in range(2, count + 1))
        return [_FIRST, *more]

    for count in range(1, 7):
        bring(path, *steps(count))

    copies = sorted(entry.name for entry in path.parent.glob("*.before-*"))
    assert copies == [f"mail.sqlite3.before-000{n}" for n in (4, 5, 6)]
    assert len(copies) == COPIES_KEPT


def test_a_store_of_a_newer_schema_is_refused_untouched(path: Path) -> None:
    bring(path, _FIRST, _SECOND)
    before = path.read_bytes()

    with pytest.raises(NewerStore) as refusal:
        bring(path, _FIRST)

    assert refusal.value.data == {"schema_version": 2, "newest_known": 1}
    assert path.read_bytes() == before
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("journal_mode", ["delete", "wal"])
def test_a_database_of_another_program_is_refused_untouched(path: Path, journal_mode: str) -> None:
    with closing(sqlite3.connect(path)) as other:
        other.execute(f"PRAGMA journal_mode={journal_mode}")
        other.execute("CREATE TABLE messages (id INTEGER PRIMARY KEY)")
        other.commit()
    before = path.read_bytes()

    with pytest.raises(ForeignStore, match="another program"):
        migrate(path, fault_hook=no_fault)

    assert path.read_bytes() == before
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_a_file_that_is_no_database_is_refused_untouched(path: Path) -> None:
    path.write_text("Dear diary, " * 50)

    with pytest.raises(ForeignStore, match="no SQLite database"):
        migrate(path, fault_hook=no_fault)

    assert path.read_text() == "Dear diary, " * 50


def test_an_empty_file_is_a_store_to_be_made(path: Path) -> None:
    path.touch()

    migrate(path, fault_hook=no_fault)

    assert version_of(path) == len(shipped_migrations())


def test_a_store_behind_a_symbolic_link_stays_behind_it(path: Path) -> None:
    real = path.with_name("real.sqlite3")
    path.symlink_to(real)

    migrate(path, fault_hook=no_fault)

    assert path.is_symlink()
    assert version_of(real) == len(shipped_migrations())


def test_a_script_is_taken_apart_at_its_statements_and_triggers_stay_whole() -> None:
    script = "-- a; b\nCREATE TABLE t (x); -- c;\nCREATE TRIGGER g AFTER INSERT ON t BEGIN\n  SELECT 1;\nEND;\n-- end\n"

    statements = statements_of(script)

    with closing(sqlite3.connect(":memory:")) as connection:
        add_functions(connection)
        for statement in statements:
            connection.execute(statement)
        names = [name for (name,) in connection.execute("SELECT name FROM sqlite_schema ORDER BY name LIMIT 10")]
    assert names == ["g", "t"]


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="SKIPPED: open files are listed in /proc")
def test_a_store_whose_schema_is_damaged_is_let_go_of_at_once(tmp_path: Path) -> None:
    """A connection that lives on in a traceback removes the log beside the store whenever it is collected."""
    path = tmp_path / "mail.sqlite3"
    migrate(path, fault_hook=no_fault)
    with path.open("r+b") as file:
        file.seek(100)
        file.write(b"\xff" * 1_900)

    with pytest.raises(sqlite3.DatabaseError) as caught:
        migrate(path, fault_hook=no_fault)

    assert caught.tb is not None, "while the traceback lives"
    assert str(path) not in open_files()


def open_files() -> set[str]:
    fds = list(Path("/proc/self/fd").iterdir())
    # The one that listed them is gone by now.
    return {str(fd.readlink()) for fd in fds if fd.is_symlink()}


@pytest.mark.parametrize("is_empty", [False, True])
def test_the_journal_of_a_database_that_is_gone_is_moved_away_from_a_new_one(path: Path, *, is_empty: bool) -> None:
    left = write_hot_journal(path).read_bytes()
    if is_empty:
        path.touch()

    migrate(path, fault_hook=no_fault)

    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("SELECT count(*) FROM meta").fetchone()[0] > 0
    assert path.with_name(f"{path.name}.stray-journal").read_bytes() == left


@pytest.mark.timeout(30)
def test_a_pipe_in_the_place_of_a_store_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "mail.sqlite3"
    os.mkfifo(path)

    with pytest.raises(ForeignStore, match="no SQLite database"):
        migrate(path, fault_hook=no_fault)

    assert path.is_fifo()
    assert [one.name for one in tmp_path.iterdir()] == ["mail.sqlite3"]


def test_a_folder_and_a_ring_of_links_in_the_place_of_a_store_are_left_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "ring").symlink_to("ring")

    for name in ("folder", "ring"):
        with pytest.raises(ForeignStore, match="no SQLite database"):
            migrate(tmp_path / name, fault_hook=no_fault)

    assert sorted(one.name for one in tmp_path.iterdir()) == ["folder", "ring"]
    assert (tmp_path / "ring").is_symlink()

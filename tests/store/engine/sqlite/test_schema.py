from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import mcp_agent_mail
from mcp_agent_mail.core.failpoints import no_fault
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.engine.sqlite import schema
from mcp_agent_mail.store.engine.sqlite.connection import open_reading
from mcp_agent_mail.store.engine.sqlite.migrate import NewerStore, migrate, shipped_migrations
from mcp_agent_mail.store.engine.sqlite.schema import (
    ForeignParts,
    changes_of,
    open_own,
    require_own_schema,
    require_own_tables,
)

OF_SQLITE_ITSELF = {
    name: f"CREATE TABLE {text}"
    for name, text in {
        "sqlite_sequence": "sqlite_sequence(name,seq)",
        "sqlite_stat1": "sqlite_stat1(tbl,idx,stat)",
        "messages_fts_data": "'messages_fts_data'(id INTEGER PRIMARY KEY, block BLOB)",
        "messages_fts_idx": "'messages_fts_idx'(segid, term, pgno, PRIMARY KEY(segid, term)) WITHOUT ROWID",
        "messages_fts_docsize": "'messages_fts_docsize'(id INTEGER PRIMARY KEY, sz BLOB)",
        "messages_fts_config": "'messages_fts_config'(k PRIMARY KEY, v) WITHOUT ROWID",
        "identifiers_fts_data": "'identifiers_fts_data'(id INTEGER PRIMARY KEY, block BLOB)",
        "identifiers_fts_idx": "'identifiers_fts_idx'(segid, term, pgno, PRIMARY KEY(segid, term)) WITHOUT ROWID",
        "identifiers_fts_docsize": "'identifiers_fts_docsize'(id INTEGER PRIMARY KEY, sz BLOB)",
        "identifiers_fts_config": "'identifiers_fts_config'(k PRIMARY KEY, v) WITHOUT ROWID",
    }.items()
}


def _made(path: Path, version: int) -> Path:
    migrate(path, fault_hook=no_fault, migrations=shipped_migrations()[:version])
    return path


def _run(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(statement)
        connection.commit()


def test_what_is_known_of_the_newest_schema_is_what_the_migrations_make(tmp_path: Path) -> None:
    path = _made(tmp_path / "store.sqlite3", schema.NEWEST_VERSION)

    assert len(shipped_migrations()) == schema.NEWEST_VERSION
    with closing(sqlite3.connect(path)) as connection:
        assert schema.digest_of(schema._definitions(connection)) == schema.NEWEST_SHA256


@pytest.mark.parametrize("version", range(1, schema.NEWEST_VERSION + 1))
def test_a_store_of_any_version_has_the_schema_of_that(version: int, tmp_path: Path) -> None:
    assert changes_of(_made(tmp_path / "store.sqlite3", version)) == []


def test_a_schema_that_another_sqlite_has_spelt_is_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema, "NEWEST_SHA256", "of another one")

    require_own_schema(_made(tmp_path / "store.sqlite3", schema.NEWEST_VERSION))


@pytest.mark.parametrize("version", [schema.NEWEST_VERSION - 1, schema.NEWEST_VERSION])
async def test_a_store_with_a_strangers_trigger_is_not_opened_and_not_migrated(version: int, tmp_path: Path) -> None:
    path = _made(tmp_path / "store.sqlite3", version)
    _run(path, "CREATE TRIGGER heard AFTER INSERT ON messages BEGIN UPDATE agents SET name = 'x'; END")
    before = path.read_bytes()

    with pytest.raises(ForeignParts, match=f"heard is not of this program .schema {version}"):
        async with Store(path):
            pass

    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "more", ["CHECK(length(randomblob(9)) > 0)", "x AS (1)", "x REFERENCES agents(id)", "x DEFAULT 1"]
)
@pytest.mark.parametrize("name", OF_SQLITE_ITSELF)
def test_a_table_that_sqlite_makes_for_itself_is_compared_to_the_letter(name: str, more: str, tmp_path: Path) -> None:
    path = _made(tmp_path / "store.sqlite3", schema.NEWEST_VERSION)
    _run(path, "ANALYZE")
    text = OF_SQLITE_ITSELF[name]
    begin, end = text.index("(") + 1, text.rindex(")")
    spoilt = f"{text[:end]}, {more}{text[end:]}" if "CHECK" in more else f"{text[:begin]}{more}, {text[begin:]}"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        changed = connection.execute("UPDATE sqlite_schema SET sql = ? WHERE sql = ?", (spoilt, text))
        assert changed.rowcount == 1
        connection.commit()

    with pytest.raises(ForeignParts, match=name):
        require_own_schema(path)


@pytest.mark.parametrize(("more", "is_known"), [("", True), (", CHECK(length(sample) > 0)", False)])
def test_what_another_sqlite_has_counted_is_known_to_the_letter(more: str, is_known: bool, tmp_path: Path) -> None:
    path = _made(tmp_path / "store.sqlite3", schema.NEWEST_VERSION)
    _run(path, "CREATE TABLE counted (tbl, idx, neq, nlt, ndlt, sample)")
    text = f"CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample{more})"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute(
            "UPDATE sqlite_schema SET name = 'sqlite_stat4', tbl_name = 'sqlite_stat4', sql = ? WHERE name = 'counted'",
            (text,),
        )
        connection.commit()

    assert changes_of(path) == (
        [] if is_known else [f"sqlite_stat4 is not of this program (schema {schema.NEWEST_VERSION})"]
    )


@pytest.mark.parametrize("kind", ["trigger", "index", "table"])
def test_a_part_that_is_gone_is_missing(kind: str, tmp_path: Path) -> None:
    path = _made(tmp_path / "store.sqlite3", schema.NEWEST_VERSION)
    with closing(sqlite3.connect(path)) as connection:
        sql = "SELECT name FROM sqlite_schema WHERE type = ? AND sql NOT NULL AND name <> 'sqlite_sequence' LIMIT 1"
        (name,) = connection.execute(sql, (kind,)).fetchone()
    _run(path, f"DROP {kind} {name}")

    with pytest.raises(ForeignParts, match=f"{name} is missing") as refused:
        require_own_schema(path)
    assert refused.value.hint.startswith("Go back to a backup")


def test_whoever_has_added_a_part_is_told_how_it_goes_and_the_ways_back_else(tmp_path: Path) -> None:
    path = _made(tmp_path / "store.sqlite3", schema.NEWEST_VERSION)
    _run(path, "CREATE INDEX quick ON messages (subject)")

    with pytest.raises(ForeignParts) as refused:
        require_own_schema(path)

    assert refused.value.hint.startswith("Take out with sqlite3 what you have added yourself (DROP TRIGGER, DROP INDEX")
    assert ". Otherwise go back to a backup (am doctor backups lists them)" in refused.value.hint
    assert refused.value.hint.endswith("Both keep the present database.")


OPENED_BY = {
    "store/engine/sqlite/connection.py",
    "store/engine/sqlite/schema.py",
    # They read the header's numbers alone, copy the pages as they are, or ask of the tables that they read.
    "store/engine/sqlite/migrate.py",
    "store/engine/sqlite/database_copy.py",
    "store/engine/sqlite/numbers.py",
    "store/checks/artifacts.py",
    # In a copy, the schema first.
    "store/checks/integrity.py",
    # Once the schema was looked at.
    "store/database.py",
    "store/engine/sqlite/long_reads.py",
}


def test_whoever_else_reads_a_database_looks_at_its_schema_first() -> None:
    """By `open_own`: a view in a table's place runs with the first look into it."""
    root = Path(mcp_agent_mail.__file__).parent
    found = {str(path.relative_to(root)) for path in root.rglob("*.py") if "open_reading" in path.read_text()}

    assert found == OPENED_BY


def test_a_database_of_a_newer_version_is_not_read(tmp_path: Path) -> None:
    path = _made(tmp_path / "store.sqlite3", schema.NEWEST_VERSION)
    _run(path, "PRAGMA user_version = 9999")

    for look in (open_own, require_own_schema):
        with pytest.raises(NewerStore, match="schema 9999"):
            look(path)


@pytest.mark.parametrize("version", [-1, 0, 9999])
def test_tables_are_told_from_others_of_their_name_whatever_the_version(version: int, tmp_path: Path) -> None:
    path = _made(tmp_path / "store.sqlite3", schema.NEWEST_VERSION)
    _run(path, f"PRAGMA user_version = {version}")
    _run(path, "ALTER TABLE counters RENAME TO counted")
    _run(path, "CREATE VIEW counters AS SELECT * FROM counted")

    with closing(open_reading(path)) as connection, pytest.raises(ForeignParts, match="counters differs"):
        require_own_tables(connection, path, ("counters", "sqlite_sequence"))


def test_parts_that_are_not_read_keep_nobody_from_reading_others(tmp_path: Path) -> None:
    path = _made(tmp_path / "store.sqlite3", schema.NEWEST_VERSION)
    _run(path, "CREATE VIEW seen AS SELECT * FROM messages")

    with closing(open_reading(path)) as connection:
        require_own_tables(connection, path, ("counters", "sqlite_sequence", "meta"))


def test_what_sqlite_counts_for_itself_is_no_change(tmp_path: Path) -> None:
    path = _made(tmp_path / "store.sqlite3", schema.NEWEST_VERSION)
    _run(path, "ANALYZE")

    require_own_schema(path)

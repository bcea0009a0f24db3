"""Columns that lack are None, those that are more are left alone, and nothing that a stranger defined is run."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from mcp_agent_mail.domain.importing.refusals import SourceUnreadable
from mcp_agent_mail.store.foreign.database import ForeignDatabase, open_private_copy


@contextmanager
def _opened(folder: Path, script: str) -> Iterator[ForeignDatabase]:
    path = folder / "source.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(script)
    with open_private_copy(path) as database:
        yield database


def test_columns_are_found_by_name_and_missing_ones_are_none(tmp_path: Path) -> None:
    with _opened(tmp_path, 'CREATE TABLE "Mail" (Id, "to", more); INSERT INTO Mail VALUES (1, \'bob\', 2)') as database:
        assert database.tables == {"mail": {"id": "Id", "to": "to", "more": "more"}}
        assert list(database.rows("mail", ("id", "to", "created"))) == [(1, "bob", None)]
        assert list(database.rows("letters", ("id",))) == []
        assert database.count("mail") == 1
        assert database.count("letters") == 0


def test_rows_come_by_the_order_that_was_asked_for_then_as_they_were_added(tmp_path: Path) -> None:
    script = "CREATE TABLE mail (id TEXT, at); INSERT INTO mail VALUES ('b', 2), ('z', 1), ('a', 1)"
    with _opened(tmp_path, script) as database:
        assert [row[0] for row in database.rows("mail", ("id",), order=("at", "none"))] == ["z", "a", "b"]


def test_a_column_may_have_the_name_of_the_row_number(tmp_path: Path) -> None:
    script = "CREATE TABLE mail (rowid TEXT, at); INSERT INTO mail VALUES ('b', 1), ('a', 1)"
    with _opened(tmp_path, script) as database:
        assert [row[0] for row in database.rows("mail", ("rowid",))] == ["b", "a"]


def test_a_table_without_row_numbers_is_read(tmp_path: Path) -> None:
    script = "CREATE TABLE mail (id TEXT PRIMARY KEY) WITHOUT ROWID; INSERT INTO mail VALUES ('b'), ('a')"
    with _opened(tmp_path, script) as database:
        assert [row[0] for row in database.rows("mail", ("id",))] == ["a", "b"]


def test_rows_are_found_by_value_none_too(tmp_path: Path) -> None:
    with _opened(tmp_path, "CREATE TABLE mail (id, who); INSERT INTO mail VALUES (1, NULL), (2, 'x')") as database:
        database.add_index("mail", ("who",))
        database.add_index("mail", ("none",))

        assert database.first("mail", ("id",), {"who": None}) == (1,)
        assert database.first("mail", ("id",), {"who": "x"}) == (2,)
        assert database.first("mail", ("id",), {"none": 1}) is None


def test_rows_that_name_what_is_not_there_are_counted(tmp_path: Path) -> None:
    script = "CREATE TABLE mail (id); CREATE TABLE copies (mail); INSERT INTO mail VALUES (1);"
    script += "INSERT INTO copies VALUES (1), (2), (NULL)"
    with _opened(tmp_path, script) as database:
        assert database.count_lost("copies", "mail", "mail", "id") == 2
        assert database.count_lost("copies", "none", "mail", "id") == 0


def test_views_virtual_tables_and_computed_columns_are_not_there(tmp_path: Path) -> None:
    script = """
        CREATE TABLE mail (id, twice AS (id * 2));
        CREATE VIEW messages AS WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT n AS id FROM c;
        CREATE VIRTUAL TABLE found USING fts5(id);
    """
    with _opened(tmp_path, script) as database:
        assert "messages" not in database.tables
        assert "found" not in database.tables
        assert database.tables["mail"] == {"id": "id"}


def test_no_computed_column_is_computed(tmp_path: Path) -> None:
    """SQLite would in one step, which nothing ends, to see whether it is NULL."""
    path = tmp_path / "source.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE mail (id INT)")
        connection.execute("INSERT INTO mail VALUES (1)")
        connection.commit()
        connection.execute("PRAGMA writable_schema = ON")
        slow = "instr(zeroblob(60000000), CAST(zeroblob(30000000) || id AS BLOB))"
        connection.execute(f"UPDATE sqlite_schema SET sql = replace(sql, ')', ', slow AS ({slow}) NOT NULL)')")
        connection.commit()

    with open_private_copy(path) as database:
        assert database.tables["mail"] == {"id": "id"}
        assert list(database.rows("mail", ("id", "slow"))) == [(1, None)]


def test_a_virtual_table_that_says_it_has_pages_is_none(tmp_path: Path) -> None:
    script = """
        CREATE VIRTUAL TABLE mail USING fts5(id);
        INSERT INTO mail VALUES ('a');
        PRAGMA writable_schema = ON;
        UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema WHERE name = 'mail_data')
            WHERE name = 'mail';
    """
    with _opened(tmp_path, script) as database:
        assert "mail" not in database.tables
        assert "mail_data" in database.tables


def test_no_check_of_the_file_is_run(tmp_path: Path) -> None:
    script = "PRAGMA ignore_check_constraints = ON; CREATE TABLE mail (id CHECK (id > 5)); INSERT INTO mail VALUES (1)"
    with _opened(tmp_path, script) as database:
        assert list(database.rows("mail", ("id",))) == [(1,)]


def test_names_that_end_a_statement_are_only_names(tmp_path: Path) -> None:
    name = 'x"; DROP TABLE mail; --'
    quoted = name.replace('"', '""')
    with _opened(tmp_path, f'CREATE TABLE mail (id, "{quoted}"); INSERT INTO mail VALUES (1, 2)') as database:
        assert list(database.rows("mail", (name.lower(), "id"), order=(name.lower(),))) == [(2, 1)]


def test_text_that_is_no_utf_8_is_mended_and_counted(tmp_path: Path) -> None:
    with _opened(tmp_path, "CREATE TABLE mail (id); INSERT INTO mail VALUES (CAST(x'61ff62' AS TEXT))") as database:
        assert list(database.rows("mail", ("id",))) == [("a\ufffdb",)]
        assert database.mended == 1


def test_damage_is_told_before_anything_is_read(tmp_path: Path) -> None:
    path = tmp_path / "source.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript("CREATE TABLE mail (id); CREATE INDEX by_id ON mail (id)")
        with connection:
            connection.executemany("INSERT INTO mail VALUES (?)", ((f"{number:0900}",) for number in range(200)))
    content = bytearray(path.read_bytes())
    for at in range(4096, len(content) - 4096, 4096):
        content[at : at + 2000] = b"\x55" * 2000
    path.write_bytes(content)

    with pytest.raises(SourceUnreadable, match=r"damaged|SQLite says"), open_private_copy(path):
        pass


def test_a_file_that_was_cut_off_is_told(tmp_path: Path) -> None:
    path = tmp_path / "source.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE mail (id)")
        connection.executemany("INSERT INTO mail VALUES (?)", ((f"{number:0900}",) for number in range(200)))
    path.write_bytes(path.read_bytes()[:50_000])

    with pytest.raises(SourceUnreadable), open_private_copy(path):
        pass


def test_nothing_of_the_copy_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))

    with _opened(tmp_path, "CREATE TABLE mail (id)"):
        assert len(list((tmp_path / "temporary").iterdir())) == 1

    assert list((tmp_path / "temporary").iterdir()) == []


def test_a_statement_that_takes_too_long_is_given_up(tmp_path: Path) -> None:
    path = tmp_path / "source.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE one (id)")
        connection.execute("CREATE TABLE two (id)")
        connection.executemany("INSERT INTO one VALUES (?)", [(number,) for number in range(50_000)])
        connection.executemany("INSERT INTO two VALUES (?)", [("x",) for _ in range(50_000)])
        connection.commit()

    with open_private_copy(path, most_wait_s=0.2) as database:
        with pytest.raises(SourceUnreadable, match=r"more than 0\.2 s"):
            database.count_lost("one", "id", "two", "id")

        assert database.count("one") == 50_000

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from mcp_agent_mail.core.failpoints import no_fault
from mcp_agent_mail.features.recovery.replaced_store import is_readable, why_unread
from mcp_agent_mail.store.engine.sqlite.migrate import migrate


def run_sql(database: Path, statement: str) -> None:
    with closing(sqlite3.connect(database)) as connection:
        connection.execute(statement)
        connection.commit()


@pytest.fixture
def database(tmp_path: Path) -> Path:
    migrate(tmp_path / "mail.sqlite3", fault_hook=no_fault)
    return tmp_path / "mail.sqlite3"


def test_a_database_of_ours_is_asked(database: Path) -> None:
    assert is_readable(database)
    assert why_unread(database) is None


def test_of_none_nothing_is_said(tmp_path: Path) -> None:
    assert not is_readable(tmp_path / "mail.sqlite3")
    assert why_unread(tmp_path / "mail.sqlite3") is None


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("CREATE TRIGGER heard AFTER INSERT ON messages BEGIN SELECT 1; END", "heard is not of this program"),
        ("DROP INDEX outbox_oldest", "outbox_oldest is missing"),
    ],
)
def test_one_with_another_schema_is_not_asked_and_said_to_hold_what_git_has_not(
    database: Path, statement: str, why: str
) -> None:
    run_sql(database, statement)

    assert not is_readable(database)
    told = why_unread(database) or ""
    assert why in told
    assert "What Git had not got yet was not brought back" in told


def test_what_is_damaged_or_no_database_is_not_asked(database: Path) -> None:
    content = bytearray(database.read_bytes())
    content[2_048 * 3 : 2_048 * 6] = bytes(2_048 * 3)
    database.write_bytes(content)
    assert not is_readable(database)
    assert "not brought back" in (why_unread(database) or "")

    database.write_bytes(b"no database" * 100)
    assert not is_readable(database)
    assert (why_unread(database) or "").startswith("It was no database of this program.")

    database.unlink()
    database.mkdir()
    assert (why_unread(database) or "").startswith("It was no database of this program.")

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from mcp_agent_mail.core.failpoints import no_fault
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.engine import schema
from mcp_agent_mail.store.engine.migrate import migrate, shipped_migrations
from mcp_agent_mail.store.engine.schema import ForeignParts, changes_of, require_own_schema


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


def test_what_sqlite_counts_for_itself_is_no_change(tmp_path: Path) -> None:
    path = _made(tmp_path / "store.sqlite3", schema.NEWEST_VERSION)
    _run(path, "ANALYZE")

    require_own_schema(path)

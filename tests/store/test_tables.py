"""The tables as types equal the tables that the migrations make."""

from __future__ import annotations

import importlib
import pkgutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from sqlmodel import SQLModel, create_engine

from mcp_agent_mail.core.failpoints import no_fault
from mcp_agent_mail.store import tables
from mcp_agent_mail.store.engine.sqlite.migrate import migrate

_NO_TYPES = ("messages_fts", "identifiers_fts", "sqlite_")

for _module in pkgutil.iter_modules(tables.__path__, f"{tables.__name__}."):
    importlib.import_module(_module.name)  # which declares its tables

Shape = dict[str, object]


def _rows(connection: sqlite3.Connection, pragma: str) -> list[tuple[object, ...]]:
    return connection.execute(f"SELECT * FROM pragma_{pragma} LIMIT 1000").fetchall()


def _index(connection: sqlite3.Connection, name: str) -> list[tuple[object, ...]]:
    """Column, descending, collation: of what the index sorts by."""
    return [
        (column, desc, collation)
        for _, _, column, desc, collation, key in _rows(connection, f"index_xinfo('{name}')")
        if key
    ]


def _condition(connection: sqlite3.Connection, name: str) -> str:
    (sql,) = connection.execute("SELECT sql FROM sqlite_schema WHERE name = ?", (name,)).fetchone()
    return " ".join(str(sql).partition("WHERE")[2].split())


def _shape(connection: sqlite3.Connection, table: str) -> Shape:
    indexes = _rows(connection, f"index_list('{table}')")
    return {
        "columns": [
            (name, kind, bool(required) or bool(key), default, key)
            for _, name, kind, required, default, key in _rows(connection, f"table_info('{table}')")
        ],
        "references": sorted(
            (column, other, to) for _, _, other, column, to, *_ in _rows(connection, f"foreign_key_list('{table}')")
        ),
        "unique": sorted(str(_index(connection, str(name))) for _, name, _, origin, _ in indexes if origin == "u"),
        "indexes": {
            name: (unique, _index(connection, str(name)), _condition(connection, str(name)))
            for _, name, unique, origin, _ in indexes
            if origin == "c"
        },
    }


def shapes_in(path: Path) -> dict[str, Shape]:
    with closing(sqlite3.connect(path)) as connection:
        names = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name LIMIT 100")
        return {name: _shape(connection, name) for (name,) in names.fetchall() if not name.startswith(_NO_TYPES)}


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Shape]:
    path = tmp_path_factory.mktemp("real") / "mail.sqlite3"
    migrate(path, fault_hook=no_fault)
    return shapes_in(path)


@pytest.fixture(scope="module")
def declared(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Shape]:
    path = tmp_path_factory.mktemp("declared") / "mail.sqlite3"
    engine = create_engine(f"sqlite:///{path}")
    SQLModel.metadata.create_all(engine)
    engine.dispose()
    return shapes_in(path)


def test_every_table_is_declared(real: dict[str, Shape], declared: dict[str, Shape]) -> None:
    assert sorted(declared) == sorted(real)


@pytest.mark.parametrize("table", sorted(SQLModel.metadata.tables))
def test_a_declared_table_is_the_real_one(table: str, real: dict[str, Shape], declared: dict[str, Shape]) -> None:
    assert declared[table] == real[table]

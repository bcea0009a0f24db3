"""Tables of what was taken over from other systems' stores."""

from __future__ import annotations

from typing import Any, ClassVar

from sqlalchemy import CheckConstraint, Index, Text
from sqlmodel import Field, SQLModel

from mcp_agent_mail.store.tables.column_types import where

# `Any` below: SQLAlchemy's own type of a table's arguments.


class ImportUnitRow(SQLModel, table=True):
    __tablename__ = "import_units"

    id: int | None = Field(default=None, primary_key=True)
    system: str = Field(sa_type=Text)
    store_id: str = Field(sa_type=Text)
    imported_ts: int


class ImportedRow(SQLModel, table=True):
    __tablename__ = "imported"
    __table_args__: ClassVar[tuple[Any, ...]] = (
        CheckConstraint("kind IN ('projects', 'agents', 'messages', 'leases', 'links', 'products')"),
        Index("imported_unit", "unit_id", "project_id"),
        Index("imported_project", "project_id", "unit_id"),
        Index("imported_mail", "number", **where("kind = 'messages'")),
        Index("imported_key", "system", "source_key", **where("kind = 'messages'")),
    )

    system: str = Field(primary_key=True, sa_type=Text)
    store_id: str = Field(primary_key=True, sa_type=Text)
    kind: str = Field(primary_key=True, sa_type=Text)
    source_key: str = Field(primary_key=True, sa_type=Text)
    number: int
    project_id: int = Field(foreign_key="projects.id")
    unit_id: int = Field(foreign_key="import_units.id")

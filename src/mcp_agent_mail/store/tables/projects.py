"""Tables of projects: their aliases, and the products that they are part of."""

from __future__ import annotations

from typing import Any, ClassVar

from sqlalchemy import CheckConstraint, Index, Text
from sqlmodel import Field, SQLModel

# `Any` below: SQLAlchemy's own type of a table's arguments.


class ProjectRow(SQLModel, table=True):
    __tablename__ = "projects"
    __table_args__: ClassVar[tuple[Any, ...]] = (Index("projects_plain_slug", "plain_slug"),)

    id: int | None = Field(default=None, primary_key=True)
    slug: str = Field(unique=True, sa_type=Text)
    human_key: str = Field(unique=True, sa_type=Text)
    plain_slug: str = Field(sa_type=Text)
    created_ts: int
    archived_ts: int | None


class ProjectAliasRow(SQLModel, table=True):
    __tablename__ = "project_aliases"
    __table_args__: ClassVar[tuple[Any, ...]] = (
        CheckConstraint("kind IN ('path', 'tie', 'former')"),
        Index("project_aliases_project", "project_id", "kind", "created_ts", "alias"),
    )

    alias: str = Field(primary_key=True, sa_type=Text)
    project_id: int = Field(foreign_key="projects.id")
    kind: str = Field(sa_type=Text)
    created_ts: int


class ProductRow(SQLModel, table=True):
    __tablename__ = "products"

    id: int | None = Field(default=None, primary_key=True)
    product_uid: str = Field(unique=True, sa_type=Text)
    name: str = Field(sa_type=Text)
    name_key: str = Field(unique=True, sa_type=Text)
    created_ts: int


class ProductProjectRow(SQLModel, table=True):
    __tablename__ = "product_projects"
    __table_args__: ClassVar[tuple[Any, ...]] = (Index("product_projects_project", "project_id", "product_id"),)

    product_id: int = Field(primary_key=True, foreign_key="products.id")
    project_id: int = Field(primary_key=True, foreign_key="projects.id")
    linked_ts: int


class DismissedSiblingsRow(SQLModel, table=True):
    __tablename__ = "dismissed_siblings"
    __table_args__: ClassVar[tuple[Any, ...]] = (
        CheckConstraint("project_id < sibling_id"),
        Index("dismissed_siblings_sibling", "sibling_id", "project_id"),
    )

    project_id: int = Field(primary_key=True, foreign_key="projects.id")
    sibling_id: int = Field(primary_key=True, foreign_key="projects.id")
    dismissed_ts: int


class StaleAliasesRow(SQLModel, table=True):
    __tablename__ = "stale_aliases"

    project_id: int | None = Field(default=None, primary_key=True, foreign_key="projects.id")

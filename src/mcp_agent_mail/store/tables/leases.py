"""Tables of leases, and of what the guard reported about them."""

from __future__ import annotations

from typing import Any, ClassVar

from sqlalchemy import CheckConstraint, Index, Text, text
from sqlmodel import Field, SQLModel

from mcp_agent_mail.store.tables.column_types import where

# `Any` below: SQLAlchemy's own type of a table's arguments.


class LeaseRow(SQLModel, table=True):
    __tablename__ = "leases"
    __table_args__: ClassVar[tuple[Any, ...]] = (
        CheckConstraint("kind IN ('file', 'slot')"),
        CheckConstraint("is_folder IN (0, 1)"),
        CheckConstraint("ignore_case IN (0, 1)"),
        CheckConstraint("exclusive IN (0, 1)"),
        CheckConstraint("ended_by IN ('release', 'expiry', 'idle', 'force', 'retirement')"),
        Index("leases_live", "project_id", "kind", "id", **where("released_ts IS NULL")),
        Index("leases_keys", "project_id", "kind", "anchor", "tail", "exclusive", **where("released_ts IS NULL")),
        Index("leases_of_agent", "agent_id", "id", **where("released_ts IS NULL")),
        Index("leases_expiry", "expires_ts", **where("released_ts IS NULL")),
        Index("leases_lapsed", "agent_id", "expires_ts", **where("ended_by = 'expiry'")),
        Index("leases_of_project", "project_id", "kind", "id"),
    )

    id: int | None = Field(default=None, primary_key=True)
    project_id: int = Field(foreign_key="projects.id")
    agent_id: int = Field(foreign_key="agents.id")
    kind: str = Field(sa_type=Text)
    path_pattern: str = Field(sa_type=Text)
    is_folder: int
    ignore_case: int
    anchor: str = Field(sa_type=Text)
    tail: str = Field(sa_type=Text)
    exclusive: int
    reason: str = Field(sa_type=Text)
    branch: str | None = Field(sa_type=Text)
    created_ts: int
    expires_ts: int
    released_ts: int | None
    ended_by: str | None = Field(sa_type=Text)
    evidence: str | None = Field(sa_type=Text)
    fencing: int = Field(unique=True)
    promises: int = Field(sa_column_kwargs={"server_default": text("1")})


class GuardEventRow(SQLModel, table=True):
    __tablename__ = "guard_events"
    __table_args__: ClassVar[tuple[Any, ...]] = (
        CheckConstraint("action IN ('refused', 'warned', 'bypassed', 'failed')"),
        Index("guard_events_project", "project_id", text("ts DESC"), text("id DESC")),
        Index("guard_events_newest", text("ts DESC"), text("id DESC")),
        Index("guard_events_reporter", "project_id", "reporter_id", text("ts DESC"), text("id DESC")),
    )

    id: int | None = Field(default=None, primary_key=True)
    project_id: int | None = Field(foreign_key="projects.id")
    project: str = Field(sa_type=Text)
    event_key: str = Field(unique=True, sa_type=Text)
    ts: int
    action: str = Field(sa_type=Text)
    hook: str = Field(sa_type=Text)
    agent: str | None = Field(sa_type=Text)
    repository: str = Field(sa_type=Text)
    detail: str = Field(sa_type=Text)
    reporter_id: int | None = Field(foreign_key="agents.id")

"""Tables of the way into archives: events, the commits that hold them, the store's numbers about itself."""

from __future__ import annotations

from typing import Any, ClassVar

from sqlalchemy import CheckConstraint, Index, Text, UniqueConstraint, text
from sqlmodel import Field, SQLModel

from mcp_agent_mail.store.tables.column_types import where

# `Any` below: SQLAlchemy's own type of a table's arguments.


class OutboxRow(SQLModel, table=True):
    __tablename__ = "outbox"
    __table_args__: ClassVar[tuple[Any, ...]] = (
        CheckConstraint("step IN ('read', 'acknowledged')"),
        CheckConstraint("is_blind IN (0, 1)"),
        Index("outbox_pending", "project_id", "seq", **where("commit_id IS NULL")),
        Index("outbox_oldest", "seq", **where("commit_id IS NULL")),
        Index("outbox_commit", "commit_id", **where("commit_id IS NOT NULL")),
        Index("outbox_agent", "agent_id", "commit_id", **where("agent_id IS NOT NULL")),
        Index("outbox_message", "message_id", **where("message_id IS NOT NULL")),
    )

    seq: int | None = Field(default=None, primary_key=True)
    project_id: int = Field(foreign_key="projects.id")
    kind: str = Field(sa_type=Text)
    agent_id: int | None = Field(foreign_key="agents.id")
    message_id: int | None = Field(foreign_key="messages.id")
    step: str | None = Field(sa_type=Text)
    created_ts: int
    snapshot: str | None = Field(sa_type=Text)
    commit_id: int | None = Field(foreign_key="commits.id")
    is_blind: int = Field(sa_column_kwargs={"server_default": text("0")})


class CommitRow(SQLModel, table=True):
    __tablename__ = "commits"
    __table_args__: ClassVar[tuple[Any, ...]] = (UniqueConstraint("project_id", "hexsha"),)

    id: int | None = Field(default=None, primary_key=True)
    project_id: int = Field(foreign_key="projects.id")
    hexsha: str = Field(sa_type=Text)
    summary: str = Field(sa_type=Text)
    authored_ts: int
    last_seq: int


class CounterRow(SQLModel, table=True):
    __tablename__ = "counters"

    name: str = Field(primary_key=True, sa_type=Text)
    value: int


class MetaRow(SQLModel, table=True):
    __tablename__ = "meta"

    key: str = Field(primary_key=True, sa_type=Text)
    value: str = Field(sa_type=Text)

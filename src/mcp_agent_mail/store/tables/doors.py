"""Tables of doors: names and ids of other systems, and what was given there."""

from __future__ import annotations

from typing import Any, ClassVar

from sqlalchemy import CheckConstraint, Index, LargeBinary, Text, UniqueConstraint
from sqlmodel import Field, SQLModel

# `Any` below: SQLAlchemy's own type of a table's arguments.

_DOORS = "('postal', 'agentmail', 'claude-mailbox')"


class WireNameRow(SQLModel, table=True):
    __tablename__ = "wire_names"
    __table_args__: ClassVar[tuple[Any, ...]] = (
        UniqueConstraint("project_id", "name_key"),
        CheckConstraint(f"owner IN {_DOORS}"),
        Index("wire_names_agent", "agent_id", "id"),
    )

    id: int | None = Field(default=None, primary_key=True)
    project_id: int = Field(foreign_key="projects.id")
    agent_id: int = Field(foreign_key="agents.id")
    name: str = Field(sa_type=Text)
    name_key: str = Field(sa_type=Text)
    owner: str | None = Field(sa_type=Text)
    created_ts: int


class WireNameDoorRow(SQLModel, table=True):
    __tablename__ = "wire_name_doors"
    __table_args__: ClassVar[tuple[Any, ...]] = (CheckConstraint(f"door IN {_DOORS}"),)

    wire_name_id: int = Field(primary_key=True, foreign_key="wire_names.id")
    door: str = Field(primary_key=True, sa_type=Text)


class WireIdRow(SQLModel, table=True):
    __tablename__ = "wire_ids"
    __table_args__: ClassVar[tuple[Any, ...]] = (
        CheckConstraint(f"door IN {_DOORS}"),
        Index("wire_ids_place", "door", "external_id", "sender_id", "recipient_id", "answers", unique=True),
        Index("wire_ids_newest", "door", "external_id", "sender_id", "recipient_id", "message_id"),
    )

    message_id: int | None = Field(default=None, primary_key=True, foreign_key="messages.id")
    door: str = Field(sa_type=Text)
    external_id: str = Field(sa_type=Text)
    sender_id: int = Field(foreign_key="agents.id")
    recipient_id: int = Field(foreign_key="agents.id")
    answers: int
    body_hash: bytes = Field(sa_type=LargeBinary)


class PopRow(SQLModel, table=True):
    __tablename__ = "pops"
    __table_args__: ClassVar[tuple[Any, ...]] = (
        CheckConstraint(f"door IN {_DOORS}"),
        Index("pops_agent", "agent_id", "message_id"),
    )

    message_id: int = Field(primary_key=True, foreign_key="messages.id")
    agent_id: int = Field(primary_key=True, foreign_key="agents.id")
    door: str = Field(sa_type=Text)
    popped_ts: int

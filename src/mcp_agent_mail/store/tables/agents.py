"""Tables of agents: contacts, join codes, issued tokens, windows, and the keys of calls that they may repeat."""

from __future__ import annotations

from typing import Any, ClassVar

from sqlalchemy import CheckConstraint, Index, LargeBinary, Text, UniqueConstraint, text
from sqlmodel import Field, SQLModel

from mcp_agent_mail.store.tables.column_types import where

# `Any` below: SQLAlchemy's own type of a table's arguments.


class AgentRow(SQLModel, table=True):
    __tablename__ = "agents"
    __table_args__: ClassVar[tuple[Any, ...]] = (
        UniqueConstraint("project_id", "name_key"),
        CheckConstraint("kind IN ('agent', 'human', 'system')"),
        CheckConstraint("unread_count >= 0"),
        CheckConstraint("open_unread_count >= 0"),
        CheckConstraint("inbox_count >= 0"),
        CheckConstraint("urgent_unread_count >= 0"),
        CheckConstraint("ack_pending_count >= 0"),
        CheckConstraint("retired_by_operator IN (0, 1)"),
        Index("agents_name_key", "name_key", "project_id"),
        Index("agents_last_active", "project_id", text("last_active_ts DESC"), text("id DESC")),
    )

    id: int | None = Field(default=None, primary_key=True)
    project_id: int = Field(foreign_key="projects.id")
    kind: str = Field(sa_type=Text)
    name: str = Field(sa_type=Text)
    name_key: str = Field(sa_type=Text)
    program: str = Field(sa_type=Text)
    model: str = Field(sa_type=Text)
    task_description: str = Field(sa_type=Text)
    inception_ts: int
    last_active_ts: int
    profiled_ts: int
    contact_policy: str = Field(sa_type=Text, sa_column_kwargs={"server_default": "auto"})
    attachments_policy: str = Field(sa_type=Text, sa_column_kwargs={"server_default": "auto"})
    status: str = Field(sa_type=Text, sa_column_kwargs={"server_default": "ready"})
    status_note: str | None = Field(sa_type=Text)
    status_ts: int | None
    retired_ts: int | None
    token_hash: bytes | None = Field(unique=True, sa_type=LargeBinary)
    unread_count: int = Field(sa_column_kwargs={"server_default": text("0")})
    open_unread_count: int = Field(sa_column_kwargs={"server_default": text("0")})
    inbox_count: int = Field(sa_column_kwargs={"server_default": text("0")})
    urgent_unread_count: int = Field(sa_column_kwargs={"server_default": text("0")})
    ack_pending_count: int = Field(sa_column_kwargs={"server_default": text("0")})
    retired_by_operator: int = Field(sa_column_kwargs={"server_default": text("0")})


class ContactRow(SQLModel, table=True):
    __tablename__ = "contacts"
    __table_args__: ClassVar[tuple[Any, ...]] = (
        UniqueConstraint("source_id", "target_id"),
        CheckConstraint("status IN ('pending', 'approved', 'blocked')"),
        Index("contacts_target", "target_id", "id"),
        Index("contacts_denied", "target_id", "source_id", **where("status = 'blocked' AND expires_ts IS NULL")),
        Index("contacts_pending", "id", **where("status = 'pending'")),
    )

    id: int | None = Field(default=None, primary_key=True)
    source_id: int = Field(foreign_key="agents.id")
    target_id: int = Field(foreign_key="agents.id")
    status: str = Field(sa_type=Text)
    reason: str = Field(sa_type=Text)
    created_ts: int
    updated_ts: int
    expires_ts: int | None


class JoinCodeRow(SQLModel, table=True):
    __tablename__ = "join_codes"
    __table_args__: ClassVar[tuple[Any, ...]] = (
        CheckConstraint("(used_ts IS NULL) = (agent_id IS NULL)"),
        Index("join_codes_project", "project_id", "id"),
        Index("join_codes_unused", "expires_ts", "id", **where("used_ts IS NULL")),
    )

    id: int | None = Field(default=None, primary_key=True)
    project_id: int = Field(foreign_key="projects.id")
    code_hash: bytes = Field(unique=True, sa_type=LargeBinary)
    created_ts: int
    expires_ts: int
    used_ts: int | None
    agent_id: int | None = Field(foreign_key="agents.id")


class IssuedTokenRow(SQLModel, table=True):
    __tablename__ = "issued_tokens"
    __table_args__: ClassVar[tuple[Any, ...]] = (
        CheckConstraint("role IN ('reader', 'writer', 'operator')"),
        CheckConstraint("agent_id IS NULL OR role <> 'operator'"),
        Index("issued_tokens_agent", "agent_id", **where("agent_id IS NOT NULL")),
    )

    id: int | None = Field(default=None, primary_key=True)
    token_hash: bytes = Field(unique=True, sa_type=LargeBinary)
    role: str = Field(sa_type=Text)
    agent_id: int | None = Field(foreign_key="agents.id")
    note: str = Field(sa_type=Text)
    created_ts: int
    expires_ts: int | None
    revoked_ts: int | None
    last_used_ts: int | None


class WebSessionRow(SQLModel, table=True):
    __tablename__ = "web_sessions"
    __table_args__: ClassVar[tuple[Any, ...]] = (
        CheckConstraint("opened_by IN ('link', 'operator', 'server', 'issued', 'jwt')"),
        CheckConstraint("role IN ('reader', 'writer', 'operator')"),
        Index("web_sessions_used", "used_ts", "id"),
    )

    id: int | None = Field(default=None, primary_key=True)
    secret_hash: bytes = Field(unique=True, sa_type=LargeBinary)
    opened_by: str = Field(sa_type=Text)
    role: str = Field(sa_type=Text)
    issued_token_id: int | None
    issued_to: int | None = Field(foreign_key="agents.id")
    claimed_agents: str = Field(sa_type=Text)
    server_token_hash: bytes | None = Field(sa_type=LargeBinary)
    created_ts: int
    used_ts: int
    expires_ts: int | None


class WindowRow(SQLModel, table=True):
    __tablename__ = "windows"
    __table_args__: ClassVar[tuple[Any, ...]] = (
        UniqueConstraint("project_id", "window_uuid"),
        Index("windows_uuid", "window_uuid"),
        Index(
            "windows_live",
            "project_id",
            text("last_active_ts DESC"),
            text("id DESC"),
            **where("expired_ts IS NULL"),
        ),
    )

    id: int | None = Field(default=None, primary_key=True)
    project_id: int = Field(foreign_key="projects.id")
    window_uuid: str = Field(sa_type=Text)
    display_name: str = Field(sa_type=Text)
    name_key: str = Field(sa_type=Text)
    created_ts: int
    last_active_ts: int
    expired_ts: int | None


class IdempotencyKeyRow(SQLModel, table=True):
    __tablename__ = "idempotency_keys"
    __table_args__: ClassVar[tuple[Any, ...]] = (Index("idempotency_keys_age", "created_ts"),)

    agent_id: int = Field(primary_key=True, foreign_key="agents.id")
    key: str = Field(primary_key=True, sa_type=Text)
    arguments_hash: bytes = Field(sa_type=LargeBinary)
    result: str = Field(sa_type=Text)
    created_ts: int

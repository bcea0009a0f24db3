"""The tables as types. A test holds them equal to `schema/*.sql`, which makes the real ones.

Importing SQLModel takes 0.4 s and 20 MB: the server never does, and its statements are plain SQL.
"""

from __future__ import annotations

from typing import Any, ClassVar

from sqlalchemy import REAL, CheckConstraint, Index, LargeBinary, Text, UniqueConstraint, text
from sqlmodel import Field, SQLModel

# `Any` below: SQLAlchemy's own type of a table's arguments.
_NO_CASE = Text(collation="NOCASE")


def _where(condition: str) -> dict[str, Any]:  # keyword arguments of Index
    return {"sqlite_where": text(condition)}


class MetaRow(SQLModel, table=True):
    __tablename__ = "meta"

    key: str = Field(primary_key=True, sa_type=Text)
    value: str = Field(sa_type=Text)


class CounterRow(SQLModel, table=True):
    __tablename__ = "counters"

    name: str = Field(primary_key=True, sa_type=Text)
    value: int


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


class AgentRow(SQLModel, table=True):
    __tablename__ = "agents"
    __table_args__: ClassVar[tuple[Any, ...]] = (
        UniqueConstraint("project_id", "name_key"),
        CheckConstraint("kind IN ('agent', 'human', 'system')"),
        CheckConstraint("unread_count >= 0"),
        CheckConstraint("open_unread_count >= 0"),
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


class MessageRow(SQLModel, table=True):
    __tablename__ = "messages"
    __table_args__: ClassVar[tuple[Any, ...]] = (
        CheckConstraint("importance IN ('low', 'normal', 'high', 'urgent')"),
        CheckConstraint("ack_required IN (0, 1)"),
        CheckConstraint("is_system IN (0, 1)"),
        Index("messages_sender", "sender_id", "id"),
        Index("messages_unpurged", "project_id", "created_ts", "id", **_where("purged_ts IS NULL")),
        Index("messages_reply_to", "reply_to", **_where("reply_to IS NOT NULL")),
    )

    id: int | None = Field(default=None, primary_key=True)
    project_id: int = Field(foreign_key="projects.id")
    sender_id: int = Field(foreign_key="agents.id")
    thread_id: str | None = Field(sa_type=Text)
    topic: str | None = Field(sa_type=_NO_CASE)
    subject: str = Field(sa_type=Text)
    importance: str = Field(sa_type=Text)
    ack_required: int
    created_ts: int
    reply_to: int | None = Field(foreign_key="messages.id")
    is_system: int = Field(sa_column_kwargs={"server_default": text("0")})
    scope: str = Field(sa_type=Text)
    body_bytes: int
    body_md: str = Field(sa_type=Text)
    purged_ts: int | None


class MessageProjectRow(SQLModel, table=True):
    __tablename__ = "message_projects"
    __table_args__: ClassVar[tuple[Any, ...]] = (
        Index("message_projects_thread", "thread_id", "project_id", "delivery_seq", **_where("thread_id IS NOT NULL")),
        CheckConstraint("is_late IN (0, 1)"),
        Index("message_projects_late", "project_id", "delivered_ts", **_where("is_late = 1")),
        Index("message_projects_topic", "project_id", "topic", "message_id", **_where("topic IS NOT NULL")),
    )

    project_id: int = Field(primary_key=True, foreign_key="projects.id")
    message_id: int = Field(primary_key=True, foreign_key="messages.id")
    delivered_ts: int
    thread_id: str | None = Field(sa_type=Text)
    topic: str | None = Field(sa_type=_NO_CASE)
    is_late: int = Field(sa_column_kwargs={"server_default": text("0")})
    delivery_seq: int = Field(sa_column_kwargs={"server_default": text("0")})


class RecipientRow(SQLModel, table=True):
    __tablename__ = "recipients"
    __table_args__: ClassVar[tuple[Any, ...]] = (
        CheckConstraint("kind IN ('to', 'cc', 'bcc')"),
        CheckConstraint("urgent IN (0, 1)"),
        CheckConstraint("ack_required IN (0, 1)"),
        Index("recipients_inbox", "agent_id", "delivery_seq", unique=True, **_where("delivery_seq IS NOT NULL")),
        Index(
            "recipients_unread", "agent_id", "delivery_seq", **_where("delivery_seq IS NOT NULL AND read_ts IS NULL")
        ),
        Index("recipients_urgent", "agent_id", "delivery_seq", **_where("delivery_seq IS NOT NULL AND urgent = 1")),
        Index(
            "recipients_urgent_unread",
            "agent_id",
            "delivery_seq",
            **_where("delivery_seq IS NOT NULL AND urgent = 1 AND read_ts IS NULL"),
        ),
        Index(
            "recipients_thread",
            "agent_id",
            "thread_id",
            "delivery_seq",
            **_where("delivery_seq IS NOT NULL AND thread_id IS NOT NULL"),
        ),
        Index(
            "recipients_topic",
            "agent_id",
            "topic",
            "delivery_seq",
            **_where("delivery_seq IS NOT NULL AND topic IS NOT NULL"),
        ),
        Index(
            "recipients_unacked",
            "agent_id",
            "delivery_seq",
            **_where("delivery_seq IS NOT NULL AND ack_required = 1 AND ack_ts IS NULL"),
        ),
        Index(
            "recipients_overdue",
            "delivery_seq",
            **_where("delivery_seq IS NOT NULL AND ack_required = 1 AND ack_ts IS NULL"),
        ),
        Index("recipients_held", "agent_id", "message_id", **_where("delivery_seq IS NULL AND refused_ts IS NULL")),
    )

    message_id: int = Field(primary_key=True, foreign_key="messages.id")
    agent_id: int = Field(primary_key=True, foreign_key="agents.id")
    kind: str = Field(sa_type=Text)
    position: int
    delivery_seq: int | None
    delivered_ts: int | None
    read_ts: int | None
    ack_ts: int | None
    urgent: int
    ack_required: int
    thread_id: str | None = Field(sa_type=Text)
    topic: str | None = Field(sa_type=_NO_CASE)
    held_code: str | None = Field(sa_type=Text)
    refused_ts: int | None


class OverdueNoticeRow(SQLModel, table=True):
    __tablename__ = "overdue_notices"
    __table_args__: ClassVar[tuple[Any, ...]] = (CheckConstraint("escalation IN ('log', 'file_reservation', 'mail')"),)

    message_id: int | None = Field(default=None, primary_key=True, foreign_key="messages.id")
    noted_ts: int
    escalation: str | None = Field(sa_type=Text)


class ContactRow(SQLModel, table=True):
    __tablename__ = "contacts"
    __table_args__: ClassVar[tuple[Any, ...]] = (
        UniqueConstraint("source_id", "target_id"),
        CheckConstraint("status IN ('pending', 'approved', 'blocked')"),
        Index("contacts_target", "target_id", "id"),
        Index("contacts_denied", "target_id", "source_id", **_where("status = 'blocked' AND expires_ts IS NULL")),
    )

    id: int | None = Field(default=None, primary_key=True)
    source_id: int = Field(foreign_key="agents.id")
    target_id: int = Field(foreign_key="agents.id")
    status: str = Field(sa_type=Text)
    reason: str = Field(sa_type=Text)
    created_ts: int
    updated_ts: int
    expires_ts: int | None


class LeaseRow(SQLModel, table=True):
    __tablename__ = "leases"
    __table_args__: ClassVar[tuple[Any, ...]] = (
        CheckConstraint("kind IN ('file', 'slot')"),
        CheckConstraint("is_folder IN (0, 1)"),
        CheckConstraint("ignore_case IN (0, 1)"),
        CheckConstraint("exclusive IN (0, 1)"),
        CheckConstraint("ended_by IN ('release', 'expiry', 'idle', 'force', 'retirement')"),
        Index("leases_live", "project_id", "kind", "id", **_where("released_ts IS NULL")),
        Index("leases_keys", "project_id", "kind", "anchor", "tail", "exclusive", **_where("released_ts IS NULL")),
        Index("leases_of_agent", "agent_id", "id", **_where("released_ts IS NULL")),
        Index("leases_expiry", "expires_ts", **_where("released_ts IS NULL")),
        Index("leases_lapsed", "agent_id", "expires_ts", **_where("ended_by = 'expiry'")),
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


class JoinCodeRow(SQLModel, table=True):
    __tablename__ = "join_codes"
    __table_args__: ClassVar[tuple[Any, ...]] = (
        CheckConstraint("(used_ts IS NULL) = (agent_id IS NULL)"),
        Index("join_codes_project", "project_id", "id"),
        Index("join_codes_unused", "expires_ts", "id", **_where("used_ts IS NULL")),
    )

    id: int | None = Field(default=None, primary_key=True)
    project_id: int = Field(foreign_key="projects.id")
    code_hash: bytes = Field(unique=True, sa_type=LargeBinary)
    created_ts: int
    expires_ts: int
    used_ts: int | None
    agent_id: int | None = Field(foreign_key="agents.id")


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
            **_where("expired_ts IS NULL"),
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


class DigestRow(SQLModel, table=True):
    __tablename__ = "digests"
    __table_args__: ClassVar[tuple[Any, ...]] = (
        Index("digests_project", "project_id", text("created_ts DESC"), text("id DESC")),
        Index("digests_newest", "project_id", "newest_id", "id"),
    )

    id: int | None = Field(default=None, primary_key=True)
    project_id: int = Field(foreign_key="projects.id")
    newest_id: int
    newest_ts: int
    span: int
    max_messages: int
    summary_text: str = Field(sa_type=Text)
    start_ts: int
    end_ts: int
    source_message_count: int
    source_thread_ids: str = Field(sa_type=Text)
    llm_model: str | None = Field(sa_type=Text)
    cost_usd: float = Field(sa_type=REAL)
    created_ts: int


class LlmSpendingRow(SQLModel, table=True):
    __tablename__ = "llm_spending"

    day: int = Field(primary_key=True)
    cost_usd: float = Field(sa_type=REAL)
    calls: int


class IdempotencyKeyRow(SQLModel, table=True):
    __tablename__ = "idempotency_keys"
    __table_args__: ClassVar[tuple[Any, ...]] = (Index("idempotency_keys_age", "created_ts"),)

    agent_id: int = Field(primary_key=True, foreign_key="agents.id")
    key: str = Field(primary_key=True, sa_type=Text)
    arguments_hash: bytes = Field(sa_type=LargeBinary)
    result: str = Field(sa_type=Text)
    created_ts: int


class CommitRow(SQLModel, table=True):
    __tablename__ = "commits"
    __table_args__: ClassVar[tuple[Any, ...]] = (UniqueConstraint("project_id", "hexsha"),)

    id: int | None = Field(default=None, primary_key=True)
    project_id: int = Field(foreign_key="projects.id")
    hexsha: str = Field(sa_type=Text)
    summary: str = Field(sa_type=Text)
    authored_ts: int
    last_seq: int


class IdentifierRow(SQLModel, table=True):
    __tablename__ = "identifiers"
    __table_args__: ClassVar[tuple[Any, ...]] = (UniqueConstraint("scope", "name"),)

    id: int | None = Field(default=None, primary_key=True)
    scope: str = Field(sa_type=Text)
    name: str = Field(sa_type=Text)


class OutboxRow(SQLModel, table=True):
    __tablename__ = "outbox"
    __table_args__: ClassVar[tuple[Any, ...]] = (
        CheckConstraint("step IN ('read', 'acknowledged')"),
        CheckConstraint("is_blind IN (0, 1)"),
        Index("outbox_pending", "project_id", "seq", **_where("commit_id IS NULL")),
        Index("outbox_oldest", "seq", **_where("commit_id IS NULL")),
        Index("outbox_commit", "commit_id", **_where("commit_id IS NOT NULL")),
        Index("outbox_agent", "agent_id", "commit_id", **_where("agent_id IS NOT NULL")),
        Index("outbox_message", "message_id", **_where("message_id IS NOT NULL")),
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

"""Tables of mail: messages, their projects and recipients, what is overdue, the index of names, digests."""

from __future__ import annotations

from typing import Any, ClassVar

from sqlalchemy import REAL, CheckConstraint, Index, Text, UniqueConstraint, text
from sqlmodel import Field, SQLModel

from mcp_agent_mail.store.tables.column_types import NO_CASE, where

# `Any` below: SQLAlchemy's own type of a table's arguments.


class MessageRow(SQLModel, table=True):
    __tablename__ = "messages"
    __table_args__: ClassVar[tuple[Any, ...]] = (
        CheckConstraint("importance IN ('low', 'normal', 'high', 'urgent')"),
        CheckConstraint("ack_required IN (0, 1)"),
        CheckConstraint("is_system IN (0, 1)"),
        CheckConstraint("is_verified IN (0, 1)"),
        Index("messages_sender", "sender_id", "id"),
        Index("messages_unpurged", "project_id", "created_ts", "id", **where("purged_ts IS NULL")),
        Index("messages_reply_to", "reply_to", **where("reply_to IS NOT NULL")),
        Index("messages_system", "id", **where("is_system = 1")),
    )

    id: int | None = Field(default=None, primary_key=True)
    project_id: int = Field(foreign_key="projects.id")
    sender_id: int = Field(foreign_key="agents.id")
    thread_id: str | None = Field(sa_type=Text)
    topic: str | None = Field(sa_type=NO_CASE)
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
    is_verified: int = Field(sa_column_kwargs={"server_default": text("0")})


class MessageProjectRow(SQLModel, table=True):
    __tablename__ = "message_projects"
    __table_args__: ClassVar[tuple[Any, ...]] = (
        Index("message_projects_thread", "thread_id", "project_id", "delivery_seq", **where("thread_id IS NOT NULL")),
        CheckConstraint("is_late IN (0, 1)"),
        Index("message_projects_late", "project_id", "delivered_ts", **where("is_late = 1")),
        Index("message_projects_topic", "project_id", "topic_key", "message_id", **where("topic_key IS NOT NULL")),
    )

    project_id: int = Field(primary_key=True, foreign_key="projects.id")
    message_id: int = Field(primary_key=True, foreign_key="messages.id")
    delivered_ts: int
    thread_id: str | None = Field(sa_type=Text)
    is_late: int = Field(sa_column_kwargs={"server_default": text("0")})
    delivery_seq: int = Field(sa_column_kwargs={"server_default": text("0")})
    topic_key: str | None = Field(sa_type=Text)


class RecipientRow(SQLModel, table=True):
    __tablename__ = "recipients"
    __table_args__: ClassVar[tuple[Any, ...]] = (
        CheckConstraint("kind IN ('to', 'cc', 'bcc')"),
        CheckConstraint("urgent IN (0, 1)"),
        CheckConstraint("ack_required IN (0, 1)"),
        Index("recipients_inbox", "agent_id", "delivery_seq", unique=True, **where("delivery_seq IS NOT NULL")),
        Index(
            "recipients_unread",
            "agent_id",
            "delivery_seq",
            **where("delivery_seq IS NOT NULL AND read_ts IS NULL AND expired_ts IS NULL"),
        ),
        Index("recipients_sender", "agent_id", "sender_id", "delivery_seq", **where("delivery_seq IS NOT NULL")),
        Index("recipients_urgent", "agent_id", "delivery_seq", **where("delivery_seq IS NOT NULL AND urgent = 1")),
        Index(
            "recipients_urgent_unread",
            "agent_id",
            "delivery_seq",
            **where("delivery_seq IS NOT NULL AND urgent = 1 AND read_ts IS NULL AND expired_ts IS NULL"),
        ),
        Index(
            "recipients_thread",
            "agent_id",
            "thread_id",
            "delivery_seq",
            **where("delivery_seq IS NOT NULL AND thread_id IS NOT NULL"),
        ),
        Index(
            "recipients_topic",
            "agent_id",
            "topic_key",
            "delivery_seq",
            **where("delivery_seq IS NOT NULL AND topic_key IS NOT NULL"),
        ),
        Index(
            "recipients_unacked",
            "agent_id",
            "delivery_seq",
            **where("delivery_seq IS NOT NULL AND ack_required = 1 AND ack_ts IS NULL AND expired_ts IS NULL"),
        ),
        Index(
            "recipients_overdue",
            "delivery_seq",
            **where("delivery_seq IS NOT NULL AND ack_required = 1 AND ack_ts IS NULL AND expired_ts IS NULL"),
        ),
        Index(
            "recipients_held",
            "agent_id",
            "message_id",
            **where("delivery_seq IS NULL AND refused_ts IS NULL AND withdrawn_ts IS NULL AND expired_ts IS NULL"),
        ),
        Index(
            "recipients_valid",
            "valid_until_ts",
            **where(
                "valid_until_ts IS NOT NULL AND read_ts IS NULL AND expired_ts IS NULL AND withdrawn_ts IS NULL "
                "AND refused_ts IS NULL"
            ),
        ),
        Index(
            "recipients_unseen",
            "delivery_seq",
            **where(
                "delivery_seq IS NOT NULL AND (urgent = 1 OR ack_required = 1) AND read_ts IS NULL "
                "AND shown_ts IS NULL AND expired_ts IS NULL"
            ),
        ),
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
    held_code: str | None = Field(sa_type=Text)
    refused_ts: int | None
    topic_key: str | None = Field(sa_type=Text)
    sender_id: int | None = Field(foreign_key="agents.id")
    handed_ts: int | None
    shown_ts: int | None
    answered_ts: int | None
    valid_until_ts: int | None
    expired_ts: int | None
    withdrawn_ts: int | None
    withdrawn_seq: int | None
    superseded_by: int | None = Field(foreign_key="messages.id")
    gone_ts: int | None


class OverdueNoticeRow(SQLModel, table=True):
    __tablename__ = "overdue_notices"
    __table_args__: ClassVar[tuple[Any, ...]] = (CheckConstraint("escalation IN ('log', 'file_reservation', 'mail')"),)

    message_id: int | None = Field(default=None, primary_key=True, foreign_key="messages.id")
    noted_ts: int
    escalation: str | None = Field(sa_type=Text)


class UnqueuedNoticeRow(SQLModel, table=True):
    __tablename__ = "unqueued_notices"

    message_id: int | None = Field(default=None, primary_key=True, foreign_key="overdue_notices.message_id")


class IdentifierRow(SQLModel, table=True):
    __tablename__ = "identifiers"
    __table_args__: ClassVar[tuple[Any, ...]] = (UniqueConstraint("scope", "name"),)

    id: int | None = Field(default=None, primary_key=True)
    scope: str = Field(sa_type=Text)
    name: str = Field(sa_type=Text)


class MessageAttachmentsRow(SQLModel, table=True):
    __tablename__ = "message_attachments"
    __table_args__: ClassVar[tuple[Any, ...]] = (CheckConstraint("json_valid(attachments)"),)

    message_id: int = Field(primary_key=True, foreign_key="messages.id")
    attachments: str = Field(sa_type=Text)


class ContentMessageRow(SQLModel, table=True):
    __tablename__ = "content_messages"
    __table_args__: ClassVar[tuple[Any, ...]] = (
        Index("content_messages_message", "message_id"),
        CheckConstraint("length(sha256) = 64"),
    )

    sha256: str = Field(sa_type=Text, primary_key=True)
    message_id: int = Field(primary_key=True, foreign_key="messages.id")


class ContentProjectRow(SQLModel, table=True):
    __tablename__ = "content_projects"
    __table_args__: ClassVar[tuple[Any, ...]] = (CheckConstraint("length(sha256) = 64"),)

    sha256: str = Field(sa_type=Text, primary_key=True)
    project_id: int = Field(primary_key=True, foreign_key="projects.id")
    message_id: int = Field(primary_key=True, foreign_key="messages.id")


class ContentPartyRow(SQLModel, table=True):
    __tablename__ = "content_parties"
    __table_args__: ClassVar[tuple[Any, ...]] = (CheckConstraint("length(sha256) = 64"),)

    sha256: str = Field(sa_type=Text, primary_key=True)
    agent_id: int = Field(primary_key=True, foreign_key="agents.id")
    message_id: int = Field(primary_key=True, foreign_key="messages.id")


class ProjectContentRow(SQLModel, table=True):
    __tablename__ = "project_contents"
    __table_args__: ClassVar[tuple[Any, ...]] = (
        CheckConstraint("length(sha256) = 64"),
        CheckConstraint("bytes >= 0"),
    )

    project_id: int = Field(primary_key=True, foreign_key="projects.id")
    sha256: str = Field(sa_type=Text, primary_key=True)
    bytes: int


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

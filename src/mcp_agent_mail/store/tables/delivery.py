"""Tables of delivery: the terms of messages, the feeds in which senders and recipients follow them, and what hooks were
given to tell.
"""

from __future__ import annotations

from typing import Any, ClassVar

from sqlalchemy import CheckConstraint, Index, LargeBinary, Text, text
from sqlmodel import Field, SQLModel

from mcp_agent_mail.store.tables.column_types import where

# `Any` below: SQLAlchemy's own type of a table's arguments.


class MessageTermsRow(SQLModel, table=True):
    __tablename__ = "message_terms"
    __table_args__: ClassVar[tuple[Any, ...]] = (
        Index("message_terms_supersedes", "supersedes", **where("supersedes IS NOT NULL")),
    )

    message_id: int | None = Field(default=None, primary_key=True, foreign_key="messages.id")
    valid_until_ts: int | None
    supersedes: int | None = Field(foreign_key="messages.id")
    withdrawn_ts: int | None
    withdrawn_reason: str | None = Field(sa_type=Text)


class FeedRow(SQLModel, table=True):
    __tablename__ = "feed"
    __table_args__: ClassVar[tuple[Any, ...]] = (
        CheckConstraint(
            "event IN ('delivered', 'withdrawn', 'expired', 'shown', 'read', 'acknowledged', 'answered', 'refused', "
            "'unseen', 'gone')"
        ),
        Index("feed_agent", "agent_id", "cursor"),
    )

    cursor: int | None = Field(default=None, primary_key=True)
    agent_id: int = Field(foreign_key="agents.id")
    event: str = Field(sa_type=Text)
    message_id: int = Field(foreign_key="messages.id")
    about_id: int | None = Field(foreign_key="agents.id")
    ts: int


class FeedMarkRow(SQLModel, table=True):
    __tablename__ = "feed_marks"

    ts: int | None = Field(default=None, primary_key=True)
    cursor: int


class HookSessionRow(SQLModel, table=True):
    __tablename__ = "hook_sessions"
    __table_args__: ClassVar[tuple[Any, ...]] = (
        Index("hook_sessions_name", "agent_id", "session_hash", unique=True),
        Index("hook_sessions_last", "agent_id", "is_proven", "last_ts", "id"),
    )

    id: int | None = Field(default=None, primary_key=True)
    agent_id: int = Field(foreign_key="agents.id")
    session_hash: bytes = Field(sa_type=LargeBinary)
    is_proven: int
    last_ts: int
    passed_seq: int = Field(sa_column_kwargs={"server_default": text("0")})


class AnnouncementRow(SQLModel, table=True):
    __tablename__ = "announcements"
    __table_args__: ClassVar[tuple[Any, ...]] = (
        Index("announcements_seq", "delivery_seq", "session_id"),
        Index("announcements_told", "session_id", **where("told_ts IS NOT NULL AND shown_ts IS NULL")),
    )

    session_id: int = Field(primary_key=True, foreign_key="hook_sessions.id")
    message_id: int = Field(primary_key=True, foreign_key="messages.id")
    delivery_seq: int
    claim: str = Field(sa_type=Text)
    given_ts: int
    told_ts: int | None
    shown_ts: int | None

"""Messages, their recipients, and the reading state each recipient has."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import AgentId, MessageId, ProjectId


class Importance(StrEnum):
    LOW = "low"
    NORMAL = "normal"
    HIGH = "high"
    URGENT = "urgent"


class RecipientKind(StrEnum):
    TO = "to"
    CC = "cc"
    BCC = "bcc"


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A stored message. Its sender's and projects' names are resolved, so that it can be shown as it is.

    `thread_id` and `topic` are None when it has none. `project_*` is the sender's project.
    """

    id: MessageId
    project_id: ProjectId
    project_slug: str
    project_key: str
    sender_id: AgentId
    sender_name: str
    thread_id: str | None
    topic: str | None
    subject: str
    body_md: str
    importance: Importance
    ack_required: bool
    created_ts: Micros
    reply_to: MessageId | None
    is_system: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipient:
    """One recipient of a stored message with its reading state; `delivery_seq` is the inbox order."""

    message_id: MessageId
    agent_id: AgentId
    project_id: ProjectId
    project_slug: str
    name: str
    kind: RecipientKind
    position: int
    delivery_seq: int
    delivered_ts: Micros
    read_ts: Micros | None
    ack_ts: Micros | None
    last_active_ts: Micros


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMessage:
    project_id: ProjectId
    sender_id: AgentId
    thread_id: str | None
    topic: str | None
    subject: str
    body_md: str
    importance: Importance
    ack_required: bool
    reply_to: MessageId | None
    is_system: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRecipient:
    agent_id: AgentId
    project_id: ProjectId
    kind: RecipientKind

"""What callers ask of messaging, parsed but not yet judged."""

from __future__ import annotations

from dataclasses import field

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import MessageId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.agents import AttachmentsPolicy
from mcp_agent_mail.domain.doors.ids import NewWirePlace
from mcp_agent_mail.domain.messages import Importance, ReceiptStep
from mcp_agent_mail.features.identity.idempotency import ADDED_LATER


@dataclass(frozen=True, slots=True, kw_only=True)
class RecipientList:
    """Recipients as written. One named twice counts once, as `to` before `cc` before `bcc`."""

    to: tuple[str, ...] = ()
    cc: tuple[str, ...] = ()
    bcc: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SendRequest:
    """Beside `reply_to` the subject may be None, and no recipient named: both are then as in a reply.

    `image_policy` is the sender's own unless given; `inline_max_bytes` is never more than the server's. `wire_place` is
    where it comes in, if by a door.
    """

    project_key: str
    sender_name: str
    recipients: RecipientList
    subject: str | None
    body_md: str
    importance: Importance = Importance.NORMAL
    ack_required: bool = False
    thread_id: str | None = None
    topic: str | None = None
    broadcast: bool = False
    reply_to: MessageId | None = None
    auto_contact_if_blocked: bool | None = None
    idempotency_key: str | None = None
    attachment_paths: tuple[str, ...] = field(default=(), metadata=ADDED_LATER)
    convert_images: bool | None = field(default=None, metadata=ADDED_LATER)
    image_policy: AttachmentsPolicy | None = field(default=None, metadata=ADDED_LATER)
    inline_max_bytes: int | None = field(default=None, metadata=ADDED_LATER)
    valid_until: Micros | None = field(default=None, metadata=ADDED_LATER)
    supersedes: MessageId | None = field(default=None, metadata=ADDED_LATER)
    wire_place: NewWirePlace | None = field(default=None, metadata=ADDED_LATER)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyRequest:
    """`importance` is the original's when left out. `acknowledge`: the original is acknowledged, and not only read.
    Images are as in a send.
    """

    project_key: str
    sender_name: str
    message_id: MessageId
    recipients: RecipientList
    body_md: str
    subject_prefix: str = "Re:"
    importance: Importance | None = None
    ack_required: bool | None = None
    idempotency_key: str | None = None
    acknowledge: bool = field(default=False, metadata=ADDED_LATER)
    attachment_paths: tuple[str, ...] = field(default=(), metadata=ADDED_LATER)
    convert_images: bool | None = field(default=None, metadata=ADDED_LATER)
    image_policy: AttachmentsPolicy | None = field(default=None, metadata=ADDED_LATER)
    inline_max_bytes: int | None = field(default=None, metadata=ADDED_LATER)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceiptRequest:
    """What `agent_name` says it did with these messages."""

    project_key: str
    agent_name: str
    message_ids: tuple[MessageId, ...]
    step: ReceiptStep


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxRequest:
    """`after_id` turns the page round: what was delivered after that message, oldest first; 0 is the beginning.

    `limit` 0 asks for the counts alone. `unread_first`: unread mail, then read mail, each newest first. `mark_read`
    marks what is returned, in the unit of work that reads it. `takes_latest`: where several projects have an agent of
    this name and none is named, the caller's own inbox is meant, else the one of whoever was active last.
    """

    project_key: str | None
    agent_name: str
    limit: int
    urgent_only: bool = False
    unread_only: bool = False
    include_bodies: bool = False
    since: Micros | None = None
    topic: str | None = None
    thread_id: str | None = None
    after_id: int | None = None
    unread_first: bool = False
    mark_read: bool = False
    takes_latest: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class OutboxRequest:
    project_key: str | None
    agent_name: str
    limit: int
    include_bodies: bool = False
    since: Micros | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicRequest:
    """`said_agent` is who the connection says it is."""

    project_key: str
    topic: str
    limit: int
    include_bodies: bool = True
    since: Micros | None = None
    said_agent: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadRequest:
    """`said_agent` is who the connection says it is. `takes_latest`: where several projects have mail in the thread and
    none is named, the one with the newest is meant.
    """

    project_key: str | None
    thread_id: str
    limit: int
    include_bodies: bool = False
    after_id: int = 0
    said_agent: str | None = None
    takes_latest: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageRequest:
    """One message by its id alone. `said_agent` is who the connection says it is."""

    message_id: MessageId
    project_key: str | None
    said_agent: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MailRequest:
    """One message, or a thread from its beginning or after a message of it. With `agent_name` as that agent sees it."""

    project_key: str
    agent_name: str | None
    message_id: MessageId | None
    thread_id: str | None
    limit: int
    include_bodies: bool = True
    after_id: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadListRequest:
    """With `agent_name` the threads that this agent takes part in; `since` is about their newest mail. `said_agent` is
    who the connection says it is.
    """

    project_key: str
    agent_name: str | None
    limit: int
    topic: str | None = None
    since: Micros | None = None
    said_agent: str | None = None

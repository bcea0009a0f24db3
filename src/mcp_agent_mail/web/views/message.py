"""One message, or a thread of them, as it is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import MessageId, ProjectId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.addresses import shown_name
from mcp_agent_mail.domain.attachments import Attachment
from mcp_agent_mail.domain.ladder import LadderStep
from mcp_agent_mail.domain.messages import GOOD, Message, MessageHead, Standing, attachments_of
from mcp_agent_mail.features.delivery.status import MessageStatus
from mcp_agent_mail.store.mail.messages import MailCommit
from mcp_agent_mail.web.addresses import project_url

FOLDED_CHARACTERS = 256 * 1024
_RASTER = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
LADDER = (LadderStep.DELIVERED, LadderStep.HANDED_OVER, LadderStep.SHOWN, LadderStep.READ, LadderStep.ACKNOWLEDGED)


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyView:
    """One recipient's copy: its status, and for each step of the ladder when it was reached, None where it was not.
    `refused_ts`: when it was returned since consent was denied.
    """

    name: str
    kind: str
    status: str
    steps: Sequence[tuple[str, Micros | None]]
    refused_ts: Micros | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachmentView:
    """`is_image`: a browser shows it in the page. All else is saved, never shown."""

    name: str
    href: str
    media_type: str
    bytes: int
    is_image: bool
    width: int | None
    height: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageView:
    """`body_md` is what is shown of the body, all of it unless `is_folded`; None where it was not read."""

    id: MessageId
    project: str
    sender: str
    subject: str
    body_md: str | None
    is_folded: bool
    importance: str
    asks_ack: bool
    thread_id: str | None
    topic: str | None
    created_ts: Micros
    reply_to: MessageId | None
    is_system: bool
    standing: Standing
    attachments: Sequence[AttachmentView]
    copies: Sequence[CopyView] = ()
    copies_total: int = 0
    commit: MailCommit | None = None
    newer: int = 0
    valid_until: Micros | None = None
    to: Sequence[str] = ()


def attachment_view(slug: str, one: Attachment) -> AttachmentView:
    """An attachment of a message of this project."""
    return AttachmentView(
        name=one.name,
        href=project_url(slug, "attachments", one.content.sha256),
        media_type=one.media_type,
        bytes=one.content.bytes,
        is_image=one.media_type in _RASTER,
        width=one.width,
        height=one.height,
    )


def copy_views(status: MessageStatus, seen_from: ProjectId, standing: Standing = GOOD) -> list[CopyView]:
    """In the order addressed; agents of other projects with their address. A copy that a later message replaced is
    called so, unless the whole message was withdrawn besides.
    """
    is_replaced = standing.superseded_by is not None and standing.withdrawn_ts is None
    words = {LadderStep.WITHDRAWN.value: "superseded"} if is_replaced else {}
    return [
        CopyView(
            name=shown_name(copy.name, copy.project_id, copy.project_slug, seen_from),
            kind=str(copy.kind),
            status=words.get(copy.progress.status, copy.progress.status),
            steps=[(step.value, copy.progress.in_order.get(step)) for step in LADDER],
            refused_ts=copy.progress.in_order.get(LadderStep.REFUSED),
        )
        for copy in status.copies
    ]


def listed_message(
    head: MessageHead, bodies: Mapping[MessageId, str], standing: Standing = GOOD, to: Sequence[str] = ()
) -> MessageView:
    """A message of a thread."""
    body = bodies.get(head.id)
    return MessageView(
        id=head.id,
        project=head.project_slug,
        sender=head.sender_name,
        subject=head.subject,
        body_md=None if body is None else body[:FOLDED_CHARACTERS],
        is_folded=body is not None and len(body) > FOLDED_CHARACTERS,
        importance=str(head.importance),
        asks_ack=bool(head.ack_required),
        thread_id=head.thread_id,
        topic=head.topic,
        created_ts=head.created_ts,
        reply_to=head.reply_to,
        is_system=bool(head.is_system),
        standing=standing,
        attachments=[attachment_view(head.project_slug, one) for one in attachments_of(head)],
        valid_until=head.valid_until,
        to=to,
    )


def whole_message(
    message: Message,
    standing: Standing,
    status: MessageStatus,
    commit: MailCommit | None,
    newer: int,
) -> MessageView:
    """A message that is read by itself."""
    return MessageView(
        id=message.id,
        project=message.project_slug,
        sender=message.sender_name,
        subject=message.subject,
        body_md=message.body_md[:FOLDED_CHARACTERS],
        is_folded=len(message.body_md) > FOLDED_CHARACTERS,
        importance=str(message.importance),
        asks_ack=message.ack_required,
        thread_id=message.thread_id,
        topic=message.topic,
        created_ts=message.created_ts,
        reply_to=message.reply_to,
        is_system=message.is_system,
        standing=standing,
        attachments=[attachment_view(message.project_slug, one) for one in message.attachments],
        copies=copy_views(status, message.project_id, standing),
        copies_total=status.total,
        commit=commit,
        newer=newer,
        valid_until=message.terms.valid_until,
    )

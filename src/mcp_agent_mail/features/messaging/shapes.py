"""Messages, inbox entries and deliveries as every answer shows them. Keys and their order are a wire contract."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from mcp_agent_mail.core.clock import SECOND, Micros, iso
from mcp_agent_mail.core.ids import AgentId, MessageId, ProjectId
from mcp_agent_mail.core.tools import Json, JsonObject, ResultList
from mcp_agent_mail.domain.addresses import shown_name
from mcp_agent_mail.domain.attachments import Attachment
from mcp_agent_mail.domain.messages import (
    NO_INLINE,
    InboxEntry,
    InlineContents,
    Message,
    MessageHead,
    Recipient,
    RecipientKind,
    Standing,
    attachments_of,
)
from mcp_agent_mail.domain.presence import ABSENT, Presence
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.identity.idempotency import Replay
from mcp_agent_mail.features.identity.shapes import show_listening
from mcp_agent_mail.features.messaging.read import InboxListing
from mcp_agent_mail.features.messaging.send import Sent
from mcp_agent_mail.store.mail.inboxes import InboxCounts

_NO_DATA: Mapping[str, str] = MappingProxyType({})


def show_attachment(one: Attachment, data: Mapping[str, str] = _NO_DATA) -> JsonObject:
    """An attachment as its message carries it: `path` is that of the archive, of those that are not inline. `data` is
    what is shown of inline contents, base64 by SHA-256. Pixels are null for what was not read as an image.
    """
    wire: JsonObject = {
        "type": one.type,
        "media_type": one.media_type,
        "bytes": one.content.bytes,
        "width": one.width,
        "height": one.height,
        "sha256": one.content.sha256,
        "name": one.name,
    }
    if not one.is_inline:
        wire["path"] = one.content.path
    if one.original is not None:
        wire["original_path"] = one.original.path
    if one.is_inline and one.content.sha256 in data:
        wire["data_base64"] = data[one.content.sha256]
    return wire


def show_message(shown: MessageHead | Message, seen_from: ProjectId, inline: InlineContents = NO_INLINE) -> JsonObject:
    """The keys that every message has, wherever it is shown; `system` is there only on the server's own mail,
    `valid_until` and `supersedes` only where its sender set them.
    """
    head = shown if isinstance(shown, MessageHead) else _head_of(shown)
    # Lists show these by the hundred: taking one apart costs a quarter of asking it for each field.
    number, project, slug, sender, thread, topic, subject, importance, ack, sent, _, system, _, _, end, replaced = head
    wire: JsonObject = {
        "id": number,
        "thread_id": thread,
        "topic": topic,
        "subject": subject,
        "from": sender if project == seen_from else shown_name(sender, project, slug, seen_from),
        "importance": str(importance),
        "ack_required": bool(ack),
        "created_ts": iso(sent),
        "attachments": [],
    }
    if shown.attachments:
        data = inline.get(number, _NO_DATA)
        wire["attachments"] = [show_attachment(one, data) for one in attachments_of(shown)]
    if system:
        wire["system"] = True
    if end is not None:
        wire["valid_until"] = iso(end)
    if replaced is not None:
        wire["supersedes"] = replaced
    return wire


def _head_of(message: Message) -> MessageHead:
    """But for its attachments, and what nobody is shown."""
    return MessageHead(
        id=message.id,
        project_id=message.project_id,
        project_slug=message.project_slug,
        sender_name=message.sender_name,
        thread_id=message.thread_id,
        topic=message.topic,
        subject=message.subject,
        importance=message.importance,
        ack_required=message.ack_required,
        created_ts=message.created_ts,
        reply_to=message.reply_to,
        is_system=message.is_system,
        body_bytes=0,
        valid_until=message.terms.valid_until,
        supersedes=message.terms.supersedes,
    )


def add_standing(wire: JsonObject, standing: Standing | InboxEntry) -> JsonObject:
    """The same object, with what has become of the message; nothing of one that holds as it was sent."""
    if standing.expired_ts is not None:
        wire["expired"] = True
    if standing.superseded_by is not None:
        wire["superseded_by"] = standing.superseded_by
    if standing.withdrawn_ts is not None:
        wire["withdrawn_at"] = iso(standing.withdrawn_ts)
        wire["withdrawn_reason"] = standing.withdrawn_reason
    return wire


def add_body(wire: JsonObject, message_id: MessageId, bodies: Mapping[MessageId, str] | None) -> JsonObject:
    """The same object, with `body_md` where bodies were asked for: null, and `body_omitted` true, where it was left out
    for size.
    """
    if bodies is not None:
        body = bodies.get(message_id)
        wire["body_md"] = body
        if body is None:
            wire["body_omitted"] = True
    return wire


def show_inbox_item(
    entry: InboxEntry,
    seen_from: ProjectId,
    now: Micros,
    bodies: Mapping[MessageId, str] | None,
    inline: InlineContents = NO_INLINE,
) -> JsonObject:
    """One message of an inbox as of `now`, with its body where `bodies` were asked for; `kind` is how the agent was
    addressed, `age_s` whole seconds since its delivery. What happened to it is there once it has: when it was read,
    acknowledged, withdrawn after reading and why, which message replaces it, and that it has expired unread.
    """
    head, kind, _, _, read_ts, ack_ts, expired_ts, withdrawn_ts, _, superseded_by, newer_from_sender, since_ts = entry
    wire = show_message(head, seen_from, inline)
    wire["kind"] = kind
    wire["age_s"] = (now - since_ts) // SECOND if now > since_ts else 0
    wire["newer_from_sender"] = newer_from_sender
    if read_ts is not None:
        wire["read_at"] = iso(read_ts)
    if ack_ts is not None:
        wire["acknowledged_at"] = iso(ack_ts)
    if expired_ts is not None or superseded_by is not None or withdrawn_ts is not None:
        # Its answer reads what has expired.
        add_standing(wire, entry if read_ts is None else entry._replace(expired_ts=None))
    return wire if bodies is None else add_body(wire, head.id, bodies)


def show_inbox_items(listing: InboxListing) -> list[JsonObject]:
    """The items of a page, as `fetch_inbox` shows them."""
    seen_from = listing.mailbox.project.id
    return [
        show_inbox_item(entry, seen_from, listing.read_ts, listing.bodies, listing.inline) for entry in listing.entries
    ]


def show_inbox_page(listing: InboxListing) -> Json:
    """The answer of `fetch_inbox`: the items, with the counts of the whole inbox beside them."""
    assert listing.counts is not None
    return ResultList(show_inbox_items(listing), show_counts(listing.counts))


def show_counts(counts: InboxCounts) -> JsonObject:
    """What an inbox holds: `total` is all that was delivered, `urgent_unread` of high importance too."""
    return {
        "total": counts.total,
        "unread_count": counts.unread,
        "ack_pending": counts.ack_pending,
        "urgent_unread": counts.urgent_unread,
    }


def list_names(recipients: Iterable[Recipient], kind: RecipientKind, seen_from: ProjectId) -> list[str]:
    return [shown_name(r.name, r.project_id, r.project_slug, seen_from) for r in recipients if r.kind is kind]


def show_delivery(
    message: Message, recipients: list[Recipient], project: Project, presences: Mapping[AgentId, Presence]
) -> JsonObject:
    """One project's share of a message, for its sender alone: hence `bcc`. The body is not echoed. Whoever is not among
    the `presences` does not listen.
    """
    return {
        **show_message(message, project.id),
        "to": list_names(recipients, RecipientKind.TO, project.id),
        "cc": list_names(recipients, RecipientKind.CC, project.id),
        "bcc": list_names(recipients, RecipientKind.BCC, project.id),
        "recipients": [
            {
                "name": recipient.name,
                "kind": recipient.kind.value,
                "status": recipient.status,
                **show_listening(presences.get(recipient.agent_id, ABSENT)),
                "last_active_ts": iso(recipient.last_active_ts),
            }
            for recipient in recipients
        ],
    }


def _deliveries(sent: Sent) -> list[JsonObject]:
    """One per project that has recipients, in the order in which the projects were addressed."""
    if sent.message is None:
        return []
    by_project: dict[ProjectId, list[Recipient]] = {}
    for recipient in sent.recipients:
        by_project.setdefault(recipient.project_id, []).append(recipient)
    return [
        {
            "project": sent.projects[project_id].human_key,
            "payload": show_delivery(sent.message, recipients, sent.projects[project_id], sent.presences),
        }
        for project_id, recipients in by_project.items()
    ]


def show_sent(sent: Sent) -> JsonObject:
    """The answer of `send_message`, and what an idempotency key keeps for a repeat. `count` is of projects, not of
    recipients; `eligible` is there for a broadcast alone, `attachments` where one delivery has some, `images_left`
    where images of the body stayed as they were written.
    """
    deliveries = _deliveries(sent)
    wire: JsonObject = {
        "deliveries": deliveries,
        "count": len(deliveries),
        "verified_sender": sent.actor.verified,
        "held": [{"agent": one.agent, "code": one.code, "reason": one.reason} for one in sent.held],
        "skipped": [{"agent": one.agent, "code": one.code, "reason": one.reason} for one in sent.skipped],
    }
    if sent.eligible is not None:
        wire["eligible"] = sent.eligible
    if sent.message is not None and sent.message.attachments and len(deliveries) == 1:
        wire["attachments"] = deliveries[0]["payload"]["attachments"]
    if sent.images_left:
        wire["images_left"] = [{"target": one.target, "reason": one.reason.value} for one in sent.images_left]
    return wire


def show_send_outcome(outcome: Sent | Replay) -> JsonObject:
    return outcome.answer if isinstance(outcome, Replay) else show_sent(outcome)

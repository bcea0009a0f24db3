"""What callers get: wire objects from domain results. Keys and their order are a contract."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from mcp_agent_mail.core.clock import SECOND, Micros, iso, iso_or_none
from mcp_agent_mail.core.ids import MessageId, ProjectId
from mcp_agent_mail.domain.addresses import shown_name
from mcp_agent_mail.domain.identity.caller import AgentAuth, Caller
from mcp_agent_mail.domain.messages import InboxEntry, Message, MessageHead, Recipient, RecipientKind
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.identity.idempotency import Replay
from mcp_agent_mail.features.messaging.read import (
    InboxListing,
    MailListing,
    OutboxListing,
    SeenMessage,
    ThreadPage,
)
from mcp_agent_mail.features.messaging.receipts import MarkedReceipt
from mcp_agent_mail.features.messaging.send import Sent

Wire = dict[str, Any]
"""A JSON object."""

_COMMIT_DIGITS = 12


def message_of(shown: MessageHead | Message, seen_from: ProjectId) -> Wire:
    """The keys that every message has, wherever it is shown. `attachments` is always empty; `system` is there only on
    the server's own mail.
    """
    wire: Wire = {
        "id": shown.id,
        "thread_id": shown.thread_id,
        "topic": shown.topic,
        "subject": shown.subject,
        "from": shown_name(shown.sender_name, shown.project_id, shown.project_slug, seen_from),
        "importance": str(shown.importance),
        "ack_required": bool(shown.ack_required),
        "created_ts": iso(shown.created_ts),
        "attachments": [],
    }
    if shown.is_system:
        wire["system"] = True
    return wire


def add_body(wire: Wire, message_id: MessageId, bodies: Mapping[MessageId, str] | None) -> Wire:
    """The same object, with `body_md` where bodies were asked for: null, and `body_omitted` true, where it was left out
    for size.
    """
    if bodies is not None:
        body = bodies.get(message_id)
        wire["body_md"] = body
        if body is None:
            wire["body_omitted"] = True
    return wire


def inbox_item(entry: InboxEntry, seen_from: ProjectId, bodies: Mapping[MessageId, str] | None) -> Wire:
    """One message of an inbox, with its body where `bodies` were asked for; `kind` is how the agent was addressed."""
    wire = message_of(entry.head, seen_from)
    wire["kind"] = entry.kind
    return add_body(wire, entry.head.id, bodies)


def inbox_items(listing: InboxListing) -> list[Wire]:
    seen_from = listing.mailbox.project.id
    return [inbox_item(entry, seen_from, listing.bodies) for entry in listing.entries]


def inbox_object(listing: InboxListing, items: list[Wire] | None = None) -> Wire:
    """An inbox as the resources give it. `items` are the listing's own messages where they carry more than
    `inbox_items` gives.
    """
    messages = inbox_items(listing) if items is None else items
    return {
        "project": listing.mailbox.project.human_key,
        "agent": listing.mailbox.agent.name,
        "count": len(messages),
        "messages": messages,
    }


def mailbox_object(listing: InboxListing, commits: Mapping[MessageId, tuple[str, str]]) -> Wire:
    """The answer of `resource://mailbox`: the inbox with the archive's commit of each message, 12 digits of its hash;
    null while Git has yet to get it.
    """
    items = inbox_items(listing)
    for item in items:
        commit = commits.get(item["id"])
        item["commit"] = None if commit is None else {"hexsha": commit[0][:_COMMIT_DIGITS], "summary": commit[1]}
    return inbox_object(listing, items)


def stale_object(listing: InboxListing, now: Micros, ttl_seconds: int) -> Wire:
    """The answer of `views/acks-stale`: the inbox with how long each message has waited since its delivery, in whole
    seconds up to `now`.
    """
    items = inbox_items(listing)
    for item, entry in zip(items, listing.entries, strict=True):
        item["read_at"] = iso_or_none(entry.read_ts)
        item["age_seconds"] = max(0, now - entry.delivered_ts) // SECOND
    return {**inbox_object(listing, items), "ttl_seconds": ttl_seconds}


def mail_items(mail: MailListing) -> list[Wire]:
    return [add_body(message_of(head, mail.project.id), head.id, mail.bodies) for head in mail.heads]


def outbox_object(listing: OutboxListing) -> Wire:
    """The answer of `resource://outbox`. Only the proven sender, and the operator, are shown `bcc` and whose copies are
    held or were returned.
    """
    verified = listing.mailbox.verified
    kinds = ("to", "cc", "bcc") if verified else ("to", "cc")
    seen_from = listing.mailbox.project.id
    addressees = listing.mail.addressees or {}
    messages = mail_items(listing.mail)
    for item in messages:
        named = addressees.get(item["id"], [])
        for kind in kinds:
            item[kind] = [shown_name(a.name, a.project_id, a.project_slug, seen_from) for a in named if a.kind == kind]
        for state in ("held", "refused"):
            those = [shown_name(a.name, a.project_id, a.project_slug, seen_from) for a in named if a.state == state]
            if verified and those:
                item[state] = those
    return {
        "project": listing.mailbox.project.human_key,
        "agent": listing.mailbox.agent.name,
        "count": len(messages),
        "messages": messages,
    }


def thread_object(page: ThreadPage) -> Wire:
    """The answer of `resource://thread`: one page, in the order of the listing. `next_after_id` is null on the last
    page.
    """
    messages = mail_items(page.mail)
    for item, head in zip(messages, page.mail.heads, strict=True):
        item["reply_to"] = head.reply_to
    return {
        "project": page.mail.project.human_key,
        "thread_id": page.thread_id,
        "messages": messages,
        "total": page.total,
        "next_after_id": page.next_after_id,
    }


def message_object(seen: SeenMessage) -> Wire:
    """The answer of `resource://message`: one message with its whole body, whatever its size. Blind recipients are
    never shown.
    """
    message = seen.message
    return {
        **message_of(message, seen.project.id),
        "body_md": message.body_md,
        "to": _names(seen.recipients, RecipientKind.TO, seen.project.id),
        "cc": _names(seen.recipients, RecipientKind.CC, seen.project.id),
        "reply_to": message.reply_to,
        "project": seen.project.human_key,
    }


def _names(recipients: Iterable[Recipient], kind: RecipientKind, seen_from: ProjectId) -> list[str]:
    return [shown_name(r.name, r.project_id, r.project_slug, seen_from) for r in recipients if r.kind is kind]


def payload(message: Message, recipients: list[Recipient], project: Project) -> Wire:
    """One project's share of a message, for its sender alone: hence `bcc`. The body is not echoed."""
    return {
        **message_of(message, project.id),
        "to": _names(recipients, RecipientKind.TO, project.id),
        "cc": _names(recipients, RecipientKind.CC, project.id),
        "bcc": _names(recipients, RecipientKind.BCC, project.id),
        "recipients": [
            {
                "name": recipient.name,
                "kind": recipient.kind.value,
                "status": recipient.status,
                "last_active_ts": iso(recipient.last_active_ts),
            }
            for recipient in recipients
        ],
    }


def _deliveries(sent: Sent) -> list[Wire]:
    """One per project that has recipients, in the order in which the projects were addressed."""
    if sent.message is None:
        return []
    by_project: dict[ProjectId, list[Recipient]] = {}
    for recipient in sent.recipients:
        by_project.setdefault(recipient.project_id, []).append(recipient)
    return [
        {
            "project": sent.projects[project_id].human_key,
            "payload": payload(sent.message, recipients, sent.projects[project_id]),
        }
        for project_id, recipients in by_project.items()
    ]


def sent_object(sent: Sent) -> Wire:
    """The answer of `send_message`, and what an idempotency key keeps for a repeat. `count` is of projects, not of
    recipients; `eligible` is there for a broadcast alone.
    """
    deliveries = _deliveries(sent)
    wire: Wire = {
        "deliveries": deliveries,
        "count": len(deliveries),
        "verified_sender": sent.actor.verified,
        "held": [{"agent": one.agent, "code": one.code, "reason": one.reason} for one in sent.held],
        "skipped": [{"agent": one.agent, "code": one.code, "reason": one.reason} for one in sent.skipped],
    }
    if sent.eligible is not None:
        wire["eligible"] = sent.eligible
    return wire


def replied_object(sent: Sent) -> Wire:
    """The answer of `reply_message`: that of a send, and beside it the message as its first project has it. A reply
    always has recipients, so that there is one.
    """
    assert sent.message is not None
    wire = sent_object(sent)
    first: Wire = dict(wire["deliveries"][0]["payload"])
    del first["recipients"]
    return {**first, "reply_to": sent.message.reply_to, **wire}


def send_result(outcome: Sent | Replay) -> Wire:
    return outcome.answer if isinstance(outcome, Replay) else sent_object(outcome)


def reply_result(outcome: Sent | Replay) -> Wire:
    return outcome.answer if isinstance(outcome, Replay) else replied_object(outcome)


def read_result(marked: MarkedReceipt, caller: Caller) -> Wire:
    read_ts = None if marked.state is None else marked.state.read_ts
    wire: Wire = {"message_id": marked.message_id, "read": read_ts is not None, "read_at": iso_or_none(read_ts)}
    return _with_proof(wire, marked, caller)


def acknowledged_result(marked: MarkedReceipt, caller: Caller) -> Wire:
    """The answer of `acknowledge_message`. The times are of the first call: a repeat changes neither. `read_at` may be
    earlier.
    """
    ack_ts = None if marked.state is None else marked.state.ack_ts
    wire: Wire = {
        "message_id": marked.message_id,
        "acknowledged": ack_ts is not None,
        "acknowledged_at": iso_or_none(ack_ts),
        "read_at": iso_or_none(None if marked.state is None else marked.state.read_ts),
    }
    return _with_proof(wire, marked, caller)


def _with_proof(wire: Wire, marked: MarkedReceipt, caller: Caller) -> Wire:
    """Where names are taken at their word, an answer to an act says whether this one was."""
    return {**wire, "verified": marked.is_verified} if caller.auth is AgentAuth.OPEN else wire

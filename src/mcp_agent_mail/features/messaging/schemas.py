"""What callers get: wire objects from domain results. Keys and their order are a contract."""

from __future__ import annotations

from collections.abc import Mapping

from mcp_agent_mail.core.clock import SECOND, Micros, iso, iso_or_none
from mcp_agent_mail.core.ids import MessageId
from mcp_agent_mail.core.tools import JsonObject
from mcp_agent_mail.domain.addresses import shown_name
from mcp_agent_mail.domain.identity.caller import Caller
from mcp_agent_mail.domain.messages import GOOD, ReceiptStep, RecipientKind
from mcp_agent_mail.features.identity.idempotency import Replay
from mcp_agent_mail.features.identity.shapes import with_proof
from mcp_agent_mail.features.messaging.read import (
    InboxListing,
    MailListing,
    OutboxListing,
    SeenMessage,
    ThreadPage,
)
from mcp_agent_mail.features.messaging.read_mail import MailPage, ThreadListing
from mcp_agent_mail.features.messaging.receipts import MarkedReceipt, MarkedReceipts, ReceiptRefusal
from mcp_agent_mail.features.messaging.send import Sent
from mcp_agent_mail.features.messaging.shapes import (
    add_body,
    add_standing,
    list_names,
    show_inbox_items,
    show_message,
    show_sent,
)
from mcp_agent_mail.features.messaging.visibility import HELD_HINT
from mcp_agent_mail.store.mail.messages import MailCommit

_COMMIT_DIGITS = 12


def show_inbox(listing: InboxListing, items: list[JsonObject] | None = None) -> JsonObject:
    """An inbox as the resources give it. `items` are the listing's own messages where they carry more than
    `show_inbox_items` gives.
    """
    messages = show_inbox_items(listing) if items is None else items
    return {
        "project": listing.mailbox.project.human_key,
        "agent": listing.mailbox.agent.name,
        "count": len(messages),
        "messages": messages,
    }


def show_mailbox(
    listing: InboxListing, commits: Mapping[MessageId, MailCommit], *, with_times: bool = False
) -> JsonObject:
    """The answer of `resource://mailbox`: the inbox with the archive's commit of each message, 12 digits of its hash;
    null while Git has yet to get it. `with_times`: that of `resource://mailbox-with-commits`.
    """
    items = show_inbox_items(listing)
    for item in items:
        commit = commits.get(item["id"])
        item["commit"] = None if commit is None else _show_commit(commit, with_times=with_times)
    return show_inbox(listing, items)


def _show_commit(commit: MailCommit, *, with_times: bool) -> JsonObject:
    wire = {"hexsha": commit.hexsha[:_COMMIT_DIGITS], "summary": commit.summary}
    return {**wire, "authored_ts": iso(commit.authored_ts)} if with_times else wire


def show_stale_inbox(listing: InboxListing, now: Micros, ttl_seconds: int) -> JsonObject:
    """The answer of `views/acks-stale`: the inbox with how long each message has waited since its delivery, in whole
    seconds up to `now`.
    """
    items = show_inbox_items(listing)
    for item, entry in zip(items, listing.entries, strict=True):
        item["read_at"] = iso_or_none(entry.read_ts)
        item["age_seconds"] = max(0, now - entry.delivered_ts) // SECOND
    return {**show_inbox(listing, items), "ttl_seconds": ttl_seconds}


def show_mail(mail: MailListing) -> list[JsonObject]:
    """Each message with what has become of it, and with its body where bodies were asked for."""
    seen_from, standings = mail.project.id, mail.standings
    return [
        add_body(
            add_standing(show_message(head, seen_from, mail.inline), standings.get(head.id, GOOD)), head.id, mail.bodies
        )
        for head in mail.heads
    ]


def show_outbox(listing: OutboxListing) -> JsonObject:
    """The answer of `resource://outbox`. Only the proven sender, and the operator, are shown `bcc` and whose copies are
    held or were returned.
    """
    verified = listing.mailbox.verified
    kinds = ("to", "cc", "bcc") if verified else ("to", "cc")
    seen_from = listing.mailbox.project.id
    addressees = listing.mail.addressees or {}
    messages = show_mail(listing.mail)
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


def show_thread(page: ThreadPage) -> JsonObject:
    """The answer of `resource://thread`: one page, in the order of the listing. `next_after_id` is null on the last
    page.
    """
    messages = show_mail(page.mail)
    for item, head in zip(messages, page.mail.heads, strict=True):
        item["reply_to"] = head.reply_to
    return {
        "project": page.mail.project.human_key,
        "thread_id": page.thread_id,
        "messages": messages,
        "total": page.total,
        "next_after_id": page.next_after_id,
    }


def show_seen_message(seen: SeenMessage) -> JsonObject:
    """The answer of `resource://message`: one message with its whole body, whatever its size. Blind recipients are
    never shown.
    """
    message = seen.message
    return {
        **add_standing(show_message(message, seen.project.id, seen.inline), seen.standing),
        "body_md": message.body_md,
        "to": list_names(seen.recipients, RecipientKind.TO, seen.project.id),
        "cc": list_names(seen.recipients, RecipientKind.CC, seen.project.id),
        "reply_to": message.reply_to,
        "project": seen.project.human_key,
    }


def show_reply(sent: Sent) -> JsonObject:
    """The answer of `reply_message`: that of a send, and beside it the message as its first project has it. A reply
    always has recipients, so that there is one.
    """
    assert sent.message is not None
    wire = show_sent(sent)
    first: JsonObject = dict(wire["deliveries"][0]["payload"])
    del first["recipients"]
    shown: JsonObject = {**first, "reply_to": sent.message.reply_to, **wire}
    if sent.acknowledged is not None:
        shown["acknowledged"] = sent.acknowledged
    return shown


def show_reply_outcome(outcome: Sent | Replay) -> JsonObject:
    return outcome.answer if isinstance(outcome, Replay) else show_reply(outcome)


def show_receipts(marked: MarkedReceipts, step: ReceiptStep, caller: Caller, *, as_list: bool) -> JsonObject:
    """The answer of `mark_message_read` and `acknowledge_message`: of one message itself, of a list its `results`."""
    show = _show_read if step is ReceiptStep.READ else _show_acknowledged
    shown = [show(one) for one in marked.receipts]
    return with_proof({"results": shown} if as_list else shown[0], caller, is_verified=marked.is_verified)


def _show_read(marked: MarkedReceipt) -> JsonObject:
    read_ts = None if marked.state is None else marked.state.read_ts
    wire = {"message_id": marked.message_id, "read": read_ts is not None, "read_at": iso_or_none(read_ts)}
    return _with_reason(wire, marked)


def _show_acknowledged(marked: MarkedReceipt) -> JsonObject:
    """The times are of the first call: a repeat changes neither. `read_at` may be earlier."""
    ack_ts = None if marked.state is None else marked.state.ack_ts
    wire = {
        "message_id": marked.message_id,
        "acknowledged": ack_ts is not None,
        "acknowledged_at": iso_or_none(ack_ts),
        "read_at": iso_or_none(None if marked.state is None else marked.state.read_ts),
    }
    return _with_reason(wire, marked)


def _with_reason(wire: JsonObject, marked: MarkedReceipt) -> JsonObject:
    if marked.reason is None:
        return wire
    hint = {"hint": HELD_HINT} if marked.reason is ReceiptRefusal.HELD else {}
    return {**wire, "reason": marked.reason.value, **hint}


def show_mail_page(page: MailPage) -> JsonObject:
    """The answer of `read_mail`: blind recipients are never shown. `next_after_id` is null on the last page."""
    seen_from = page.mail.project.id
    messages = show_mail(page.mail)
    for item, head in zip(messages, page.mail.heads, strict=True):
        named = (page.mail.addressees or {}).get(head.id, [])
        for kind in ("to", "cc"):
            item[kind] = [shown_name(a.name, a.project_id, a.project_slug, seen_from) for a in named if a.kind == kind]
        item["reply_to"] = head.reply_to
    return {"messages": messages, "total": page.total, "next_after_id": page.next_after_id}


def show_threads(listing: ThreadListing) -> JsonObject:
    """The answer of `list_threads`, newest activity first; `unread` is null where nobody knows whose. A `hint` is there
    where a topic alone was asked for and none is on it.
    """
    seen_from = listing.project.id
    threads = [
        {
            "thread_id": one.thread_id,
            "subject": one.first.subject,
            "participants": [shown_name(*who, seen_from) for who in one.participants],
            "messages": one.messages,
            "unread": None if listing.unread is None else listing.unread.get(one.thread_id, 0),
            "last_ts": iso(one.last_ts),
            "last_from": shown_name(one.last.sender_name, one.last.project_id, one.last.project_slug, seen_from),
        }
        for one in listing.threads
    ]
    is_without = listing.topic is not None and not listing.total
    hint = {"hint": f"No thread was found on topic {listing.topic}: list_threads without it shows all."}
    return {"threads": threads, "total": listing.total, **(hint if is_without else {})}

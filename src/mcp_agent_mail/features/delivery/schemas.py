"""What callers get of delivery: wire objects from results. Keys and their order are a contract."""

from __future__ import annotations

from collections.abc import Sequence

from mcp_agent_mail.core.clock import Micros, iso, iso_or_none
from mcp_agent_mail.core.ids import ProjectId
from mcp_agent_mail.core.tools import JsonObject
from mcp_agent_mail.domain.addresses import shown_name
from mcp_agent_mail.domain.hooks.announcements import MAX_STOP_TEXT, Announcement, age_s, first_line
from mcp_agent_mail.features.delivery.feed import FeedPage
from mcp_agent_mail.features.delivery.hooks.agent_place import AgentPlace
from mcp_agent_mail.features.delivery.hooks.announcements import HookAnswer
from mcp_agent_mail.features.delivery.presence import HeardSession
from mcp_agent_mail.features.delivery.status import MessageStatus
from mcp_agent_mail.features.delivery.wait import FoundMail
from mcp_agent_mail.features.delivery.withdraw import Withdrawal
from mcp_agent_mail.features.identity.shapes import show_listening
from mcp_agent_mail.features.messaging.shapes import show_inbox_item
from mcp_agent_mail.store.feed import FeedEntry
from mcp_agent_mail.store.ladder import LadderCopy


def _name(copy: LadderCopy, seen_from: ProjectId) -> str:
    return shown_name(copy.name, copy.project_id, copy.project_slug, seen_from)


def show_status(found: MessageStatus) -> JsonObject:
    """The answer of `message_status`. `steps` has the time of each that has happened; `total` and `counts`, by status,
    are of all copies, of which the first 1,000 are listed. Whether a reader listens is as of now. `hint` is there for a
    sender that has not proven to be it.
    """
    return {
        "message_id": found.message_id,
        "recipients": [
            {
                "name": _name(copy, found.project.id),
                "kind": copy.kind.value,
                "status": copy.progress.status,
                "steps": {step.value: iso(at) for step, at in copy.progress.in_order.items()},
                **show_listening(found.presences[copy.agent_id]),
            }
            for copy in found.copies
        ],
        "total": found.total,
        "counts": dict(found.counts),
        **_show_hint(found.hint),
    }


def _show_hint(hint: str | None) -> JsonObject:
    return {} if hint is None else {"hint": hint}


def show_withdrawal(done: Withdrawal) -> JsonObject:
    """The answer of `withdraw_message`: `status` is `withdrawn`, or what the copy had come to before. `hint` as in
    a status.
    """
    seen_from = done.actor.project.id
    return {
        "message_id": done.message_id,
        "withdrawn_at": iso(done.withdrawn_ts),
        "recipients": [{"name": _name(copy, seen_from), "status": copy.progress.status} for copy in done.copies],
        **_show_hint(done.hint),
    }


def show_found_mail(found: FoundMail) -> JsonObject:
    """The answer of `wait_for_messages`: items as `fetch_inbox` shows them, without bodies. `passed_over` is there
    where older unread mail is left that no cursor leads to, with the next step. That of `hook_wait` has besides what a
    hook would tell.
    """
    seen_from = found.mailbox.project.id
    wire: JsonObject = {
        "messages": [show_inbox_item(entry, seen_from, found.read_ts, None) for entry in found.entries],
        "next_cursor": found.next_cursor,
        "timed_out": not found.entries,
    }
    if found.passed_over:
        wire["passed_over"] = found.passed_over
        wire["hint"] = (
            f"{found.passed_over} more unread messages are older than any cursor: read them with "
            "fetch_inbox(unread_only=true)."
        )
    if found.told is not None:
        wire["told"] = _show_announcements(found.told.mail, seen_from, found.read_ts)
        wire["more"] = found.told.more
        wire["unread"] = found.told.unread
    return wire


def show_feed(page: FeedPage) -> JsonObject:
    """The answer of `fetch_inbox_events`: `next_cursor` goes on where this page ends."""
    seen_from = page.mailbox.project.id
    return {
        "events": [show_event(entry, seen_from) for entry in page.events],
        "next_cursor": page.next_cursor,
        "has_more": page.has_more,
        "oldest_available_cursor": page.ends.floor,
        "tail_cursor": page.ends.tail,
    }


def show_event(entry: FeedEntry, seen_from: ProjectId) -> JsonObject:
    """One event of a feed; `agent` is there in the sender's: the recipient whom it is about."""
    wire: JsonObject = {
        "cursor": entry.cursor,
        "event": entry.event,
        "message_id": entry.message_id,
        "ts": iso(entry.ts),
    }
    if entry.agent is not None:
        assert entry.agent_project_id is not None, entry
        assert entry.agent_project_slug is not None, entry
        wire["agent"] = shown_name(entry.agent, ProjectId(entry.agent_project_id), entry.agent_project_slug, seen_from)
    return wire


def show_heard(heard: HeardSession) -> JsonObject:
    """The answer of `heartbeat`: null once the session has ended."""
    return {"listening_until": iso_or_none(heard.listening_until)}


def show_announced(heard: HeardSession, announced: HookAnswer) -> JsonObject:
    """The answer of `hook_event`."""
    seen_from = announced.actor.project.id
    return {
        **show_heard(heard),
        "unread": announced.unread,
        "messages": _show_announcements(announced.mail, seen_from, announced.at),
        "more": announced.more,
        "claim": announced.claim,
        "stop": None if announced.stop is None else _show_stop(announced.stop, seen_from),
        "reprime": None if announced.place is None else _show_place(announced, announced.place),
    }


def _show_announcements(mail: Sequence[Announcement], seen_from: ProjectId, now: Micros) -> list[JsonObject]:
    return [
        {
            **_show_sender(one, seen_from),
            "age_s": age_s(one.since_ts, now),
            "importance": one.importance,
            "subject": one.subject,
            "first_line": first_line(one.beginning),
            "ack_required": one.ack_required,
            "asks_stop": one.asks_stop,
        }
        for one in mail
    ]


def _show_sender(mail: Announcement, seen_from: ProjectId) -> JsonObject:
    return {
        "id": mail.id,
        "from": shown_name(mail.sender, mail.project_id, mail.project_slug, seen_from),
        "verified": mail.is_verified,
    }


def _show_stop(mail: Announcement, seen_from: ProjectId) -> JsonObject:
    return {**_show_sender(mail, seen_from), "subject": mail.subject, "text": mail.beginning[:MAX_STOP_TEXT]}


def _show_place(announced: HookAnswer, place: AgentPlace) -> JsonObject:
    seen_from = announced.actor.project.id
    return {
        "agent": announced.actor.agent.name,
        "project": announced.actor.project.human_key,
        "peers": list(place.peers),
        "peers_more": place.peers_more,
        "leases": [{"path_pattern": one.path_pattern, "expires_ts": iso(one.expires_ts)} for one in place.leases],
        "leases_more": place.leases_more,
        "unread": announced.unread,
        "to_acknowledge": [
            {"id": one.id, "from": shown_name(one.sender, one.project_id, one.project_slug, seen_from)}
            | {"subject": one.subject}
            for one in place.to_acknowledge
        ],
        "to_acknowledge_more": place.to_acknowledge_more,
    }

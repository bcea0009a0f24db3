"""What callers get to see of macros: the shapes of what they are made of."""

from __future__ import annotations

from mcp_agent_mail.core.clock import iso_or_none
from mcp_agent_mail.core.tools import JsonObject
from mcp_agent_mail.domain.identity.caller import Caller
from mcp_agent_mail.features.contacts.shapes import show_contact_answer, show_contact_request
from mcp_agent_mail.features.identity.shapes import show_peer, show_registered
from mcp_agent_mail.features.macros.results import Cycled, Handshake, Joined, Reserved, Started
from mcp_agent_mail.features.messaging.shapes import show_inbox_items, show_send_outcome
from mcp_agent_mail.features.projects.shapes import show_project
from mcp_agent_mail.features.reservations.shapes import show_decided, show_grant
from mcp_agent_mail.features.summaries.shapes import show_thread_summary


def show_started(started: Started, caller: Caller) -> JsonObject:
    """The answer of `macro_start_session`; `inbox` is empty also when no mail was asked for, and the counts are of all
    its mail.
    """
    counts = started.inbox.counts
    assert counts is not None
    return {
        **({"hint": started.doubt} if started.doubt else {}),
        "project": show_project(started.project),
        "agent": show_registered(started.registered, caller),
        "resumed": started.registered.was is not None,
        "file_reservations": _reserved(started.reserved),
        "held": [show_grant(lease) for lease in started.held],
        "unread_count": counts.unread,
        "ack_pending": counts.ack_pending,
        "inbox": show_inbox_items(started.inbox),
        "peers": [show_peer(peer, started.presences[peer.id]) for peer in started.peers],
    }


def show_joined(joined: Joined, caller: Caller) -> JsonObject:
    """The answer of `macro_prepare_thread`: the thread as `summarize_thread` gives it, with the count of its messages
    beside; `inbox` is empty also when no mail was asked for.
    """
    return {
        "project": show_project(joined.project),
        "agent": show_registered(joined.registered, caller),
        "thread": {**show_thread_summary(joined.thread), "total_messages": joined.thread.summary.total_messages},
        "inbox": show_inbox_items(joined.inbox),
    }


def show_cycled(cycled: Cycled) -> JsonObject:
    """The answer of `macro_file_reservation_cycle`. `released` is null where nothing was to be given back, else it
    counts leases.
    """
    released = cycled.released
    return {
        "file_reservations": _reserved(cycled.reserved),
        "released": None
        if released is None
        else {"released": len(released.leases), "released_at": iso_or_none(released.at)},
    }


def show_handshake(shaken: Handshake, caller: Caller) -> JsonObject:
    """The answer of `macro_contact_handshake`. `response` is null while the target has to answer itself,
    `welcome_message` where none was sent.
    """
    return {
        "request": show_contact_request(shaken.asked, caller),
        "response": None if shaken.response is None else show_contact_answer(shaken.response, caller),
        "welcome_message": None if shaken.welcome is None else show_send_outcome(shaken.welcome),
    }


def _reserved(reserved: Reserved) -> JsonObject:
    if reserved.decided is None:
        return {"granted": [], "conflicts": []}
    return show_decided(reserved.decided, reserved.stale)

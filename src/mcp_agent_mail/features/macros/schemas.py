"""What callers get to see of macros: the shapes of what they are made of."""

from __future__ import annotations

from typing import Any

from mcp_agent_mail.core.clock import iso_or_none
from mcp_agent_mail.domain.identity.caller import Caller
from mcp_agent_mail.features.contacts.schemas import asked_object, responded_object
from mcp_agent_mail.features.identity.schemas import show_peer, show_registered
from mcp_agent_mail.features.macros.results import Cycled, Handshake, Joined, Reserved, Started
from mcp_agent_mail.features.messaging.read import InboxListing
from mcp_agent_mail.features.messaging.schemas import inbox_items, send_result
from mcp_agent_mail.features.projects.schemas import show_project
from mcp_agent_mail.features.reservations.schemas import show_decided
from mcp_agent_mail.features.summaries.schemas import thread_object

Wire = dict[str, Any]
"""A JSON object."""


def started_object(started: Started, caller: Caller) -> Wire:
    """The answer of `macro_start_session`; `inbox` is empty also when no mail was asked for."""
    return {
        "project": show_project(started.project),
        "agent": show_registered(started.registered, caller),
        "file_reservations": _reserved(started.reserved),
        "inbox": _inbox(started.inbox),
        "peers": [show_peer(peer) for peer in started.peers],
    }


def joined_object(joined: Joined, caller: Caller) -> Wire:
    """The answer of `macro_prepare_thread`: the thread as `summarize_thread` gives it, with the count of its messages
    beside; `inbox` is empty also when no mail was asked for.
    """
    return {
        "project": show_project(joined.project),
        "agent": show_registered(joined.registered, caller),
        "thread": {**thread_object(joined.thread), "total_messages": joined.thread.summary.total_messages},
        "inbox": _inbox(joined.inbox),
    }


def cycled_object(cycled: Cycled) -> Wire:
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


def handshake_object(shaken: Handshake, caller: Caller) -> Wire:
    """The answer of `macro_contact_handshake`. `response` is null while the target has to answer itself,
    `welcome_message` where none was sent.
    """
    return {
        "request": asked_object(shaken.asked, caller),
        "response": None if shaken.response is None else responded_object(shaken.response, caller),
        "welcome_message": None if shaken.welcome is None else send_result(shaken.welcome),
    }


def _reserved(reserved: Reserved) -> Wire:
    if reserved.decided is None:
        return {"granted": [], "conflicts": []}
    return show_decided(reserved.decided, reserved.stale)


def _inbox(listing: InboxListing | None) -> list[Wire]:
    return [] if listing is None else inbox_items(listing)

"""What this door answers with: plain JSON, by the keys that its users know."""

from __future__ import annotations

import re

from mcp_agent_mail.core.clock import iso, iso_or_none
from mcp_agent_mail.core.tools import Json, JsonObject
from mcp_agent_mail.features.doors.results import Checked, DoorSent, MailboxList, NameChange, Pending, Popped

_NUMBER = re.compile("0|[1-9][0-9]{0,17}")


def show_sent(sent: DoorSent, *, sender: str, to: str) -> JsonObject:
    """`held` is there only where the message waits for its recipient's consent."""
    shown: JsonObject = {
        "id": _number(sent.id),
        "from": sender,
        "to": to.strip(),
        "createdAt": iso(sent.created_ts),
    }
    return {**shown, "held": True} if sent.held else shown


def show_message(popped: Popped, to: str) -> JsonObject:
    """`to` is the mailbox that it was taken from."""
    return {
        "id": _number(popped.id),
        "from": popped.sender,
        "to": to,
        "body": popped.body,
        "createdAt": iso(popped.created_ts),
    }


def show_checked(checked: Checked) -> list[Json]:
    """Oldest first."""
    return [show_message(popped, checked.name) for popped in checked.messages]


def show_claimed(checked: list[Checked]) -> JsonObject:
    """Of one mailbox or more, each with a ticket where it had mail."""
    tickets = [one.messages[0].claim for one in checked if one.messages]
    return {"messages": [shown for one in checked for shown in show_checked(one)], "tickets": list(tickets)}


def show_pending(pending: Pending) -> JsonObject:
    return {"pending": pending.count, "oldestAt": iso_or_none(pending.oldest_ts)}


def show_mailboxes(listed: MailboxList) -> list[Json]:
    """Seen last first."""
    return [
        {
            "name": one.name,
            "lastSeenAt": iso_or_none(one.last_seen_ts),
            "pending": one.pending,
            "pendingForYou": one.pending_for_caller,
        }
        for one in listed.mailboxes
    ]


def show_renamed(renamed: NameChange) -> JsonObject:
    return {"from": renamed.former, "to": renamed.name, "messagesTransferred": renamed.transferred}


def show_watched(seen: Popped | NameChange | None, name: str) -> JsonObject:
    """A message, or the mailbox's new name, or that the time is over."""
    if isinstance(seen, Popped):
        shown: JsonObject = {"status": "message", "message": show_message(seen, name)}
        return shown if seen.claim is None else {**shown, "tickets": [seen.claim]}
    if isinstance(seen, NameChange):
        return {"status": "renamed", "from": seen.former, "to": seen.name}
    return {"status": "timeout", "message": None}


def _number(wire_id: str) -> int | str:
    """Ids are numbers here; one that another program chose is as it is, also where a number would not say the same."""
    return int(wire_id) if _NUMBER.fullmatch(wire_id) else wire_id

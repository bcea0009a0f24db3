"""What callers get to see of contacts. Keys are a wire contract."""

from __future__ import annotations

from typing import Any

from mcp_agent_mail.core.clock import Micros, iso, iso_or_none
from mcp_agent_mail.domain.addresses import shown_name
from mcp_agent_mail.domain.contacts import Contact, HeldMail, LinkStatus
from mcp_agent_mail.domain.identity.caller import AgentAuth, Caller
from mcp_agent_mail.features.contacts.results import (
    ContactAnswered,
    ContactList,
    ContactRequested,
    Direction,
    HeldList,
    ListedContact,
    PolicySet,
)

Wire = dict[str, Any]
"""A JSON object."""

NO_LINK = "none"
"""The status of a denial that found nothing to deny."""


def asked_object(asked: ContactRequested, caller: Caller) -> Wire:
    """The answer to whoever asked for a contact. `status` is pending, or approved where that stands already."""
    contact = asked.contact
    wire: Wire = {
        "from": contact.source.name,
        "from_project": contact.source.project_key,
        "to": contact.target.name,
        "to_project": contact.target.project_key,
        "status": contact.status.value,
        "expires_ts": iso_or_none(contact.expires_ts),
    }
    return _with_proof(wire, caller, is_verified=asked.source.verified)


def responded_object(responded: ContactAnswered, caller: Caller) -> Wire:
    """The answer to whoever approved or denied. `status` is as of now, `updated` counts links, `delivered` and
    `returned` are ids of mail that was held.
    """
    answered = responded.answered
    contact = answered.contact
    wire: Wire = {
        "from": responded.source.agent.name,
        "from_project": responded.source.project.human_key,
        "to": responded.target.agent.name,
        "to_project": responded.target.project.human_key,
        "approved": contact is not None and contact.status is LinkStatus.APPROVED,
        "status": NO_LINK if contact is None else status_of(contact, responded.now),
        "expires_ts": None if contact is None else iso_or_none(contact.expires_ts),
        "updated": answered.changed,
        "delivered": list(answered.delivered),
        "returned": list(answered.returned),
    }
    return _with_proof(wire, caller, is_verified=responded.target.verified)


def status_of(contact: Contact, now: Micros) -> str:
    """What the link is at `now`: pending, approved, blocked or expired."""
    return contact.relation(now).value


def link_items(contacts: ContactList) -> list[Wire]:
    return [_link(one, contacts.now) for one in contacts.links]


def _link(listed: ListedContact, now: Micros) -> Wire:
    contact = listed.contact
    other = contact.target if listed.direction is Direction.OUTBOUND else contact.source
    return {
        "direction": listed.direction.value,
        "to": contact.target.name,
        "from": contact.source.name,
        "project": other.project_key,
        "status": status_of(contact, now),
        "reason": contact.reason,
        "created_ts": iso(contact.created_ts),
        "updated_ts": iso(contact.updated_ts),
        "expires_ts": iso_or_none(contact.expires_ts),
        "messageable": listed.messageable,
    }


def policy_object(done: PolicySet, caller: Caller) -> Wire:
    wire: Wire = {"agent": done.agent.name, "policy": done.agent.contact_policy.value}
    return _with_proof(wire, caller, is_verified=done.is_verified)


def held_object(held: HeldList) -> Wire:
    """Mail that waits for consent, by its heads: neither side is shown a body here. Other projects' agents are
    `Name@slug`.
    """
    return {
        "project": held.project.human_key,
        "agent": held.agent.name,
        "direction": held.direction.value,
        "count": len(held.mail),
        "messages": [_held(one, held) for one in held.mail],
    }


def _held(one: HeldMail, held: HeldList) -> Wire:
    here = held.project.id
    return {
        "id": one.message_id,
        "subject": one.subject,
        "from": shown_name(one.sender, one.sender_project_id, one.sender_project_slug, here),
        "to": shown_name(one.recipient, one.recipient_project_id, one.recipient_project_slug, here),
        "code": one.code,
        "created_ts": iso(one.created_ts),
    }


def _with_proof(wire: Wire, caller: Caller, *, is_verified: bool) -> Wire:
    """Where names are taken at their word, an answer to an act says whether this one was."""
    return {**wire, "verified": is_verified} if caller.auth is AgentAuth.OPEN else wire

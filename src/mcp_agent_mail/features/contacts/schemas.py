"""What callers get to see of contacts. Keys are a wire contract."""

from __future__ import annotations

from mcp_agent_mail.core.clock import Micros, iso, iso_or_none
from mcp_agent_mail.core.tools import JsonObject
from mcp_agent_mail.domain.addresses import shown_name
from mcp_agent_mail.domain.contacts import HeldMail
from mcp_agent_mail.domain.identity.caller import Caller
from mcp_agent_mail.features.contacts.results import (
    ContactList,
    Direction,
    HeldList,
    ListedContact,
    PolicySet,
)
from mcp_agent_mail.features.contacts.shapes import link_status
from mcp_agent_mail.features.identity.shapes import with_proof


def show_contacts(contacts: ContactList) -> list[JsonObject]:
    return [_link(one, contacts.now) for one in contacts.links]


def _link(listed: ListedContact, now: Micros) -> JsonObject:
    contact = listed.contact
    other = contact.target if listed.direction is Direction.OUTBOUND else contact.source
    return {
        "direction": listed.direction.value,
        "to": contact.target.name,
        "from": contact.source.name,
        "project": other.project_key,
        "status": link_status(contact, now),
        "reason": contact.reason,
        "created_ts": iso(contact.created_ts),
        "updated_ts": iso(contact.updated_ts),
        "expires_ts": iso_or_none(contact.expires_ts),
        "messageable": listed.messageable,
    }


def show_policy(done: PolicySet, caller: Caller) -> JsonObject:
    wire: JsonObject = {"agent": done.agent.name, "policy": done.agent.contact_policy.value}
    return with_proof(wire, caller, is_verified=done.is_verified)


def show_held_mail(held: HeldList) -> JsonObject:
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


def _held(one: HeldMail, held: HeldList) -> JsonObject:
    here = held.project.id
    return {
        "id": one.message_id,
        "subject": one.subject,
        "from": shown_name(one.sender, one.sender_project_id, one.sender_project_slug, here),
        "to": shown_name(one.recipient, one.recipient_project_id, one.recipient_project_slug, here),
        "code": one.code,
        "created_ts": iso(one.created_ts),
    }

"""A contact's request and answer, as contact tools and the handshake show them. Keys are a wire contract."""

from __future__ import annotations

from mcp_agent_mail.core.clock import Micros, iso_or_none
from mcp_agent_mail.core.tools import JsonObject
from mcp_agent_mail.domain.contacts import Contact, LinkStatus
from mcp_agent_mail.domain.identity.caller import Caller
from mcp_agent_mail.features.contacts.results import ContactAnswered, ContactRequested
from mcp_agent_mail.features.identity.shapes import with_proof

NO_LINK = "none"
"""The status of a denial that found nothing to deny."""


def show_contact_request(asked: ContactRequested, caller: Caller) -> JsonObject:
    """The answer to whoever asked for a contact. `status` is pending, or approved where that stands already."""
    contact = asked.contact
    wire: JsonObject = {
        "from": contact.source.name,
        "from_project": contact.source.project_key,
        "to": contact.target.name,
        "to_project": contact.target.project_key,
        "status": contact.status.value,
        "expires_ts": iso_or_none(contact.expires_ts),
        "registered_target": asked.has_registered,
    }
    return with_proof(wire, caller, is_verified=asked.source.verified)


def show_contact_answer(responded: ContactAnswered, caller: Caller) -> JsonObject:
    """The answer to whoever approved or denied. `status` is as of now, `updated` counts links, `delivered` and
    `returned` are ids of mail that was held.
    """
    answered = responded.answered
    contact = answered.contact
    wire: JsonObject = {
        "from": responded.source.agent.name,
        "from_project": responded.source.project.human_key,
        "to": responded.target.agent.name,
        "to_project": responded.target.project.human_key,
        "approved": contact is not None and contact.status is LinkStatus.APPROVED,
        "status": NO_LINK if contact is None else link_status(contact, responded.now),
        "expires_ts": None if contact is None else iso_or_none(contact.expires_ts),
        "updated": answered.changed,
        "delivered": list(answered.delivered),
        "returned": list(answered.returned),
    }
    return with_proof(wire, caller, is_verified=responded.target.verified)


def link_status(contact: Contact, now: Micros) -> str:
    """What the link is at `now`: pending, approved, blocked or expired."""
    return contact.relation(now).value

"""Who asks to write to whom, with the mail in view that waits for the answer."""

from __future__ import annotations

from collections.abc import Sequence

from mcp_agent_mail.core.ids import MessageId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.contacts import Contact, HeldMail
from mcp_agent_mail.store.transaction import View

EXCERPT_CHARACTERS = 600
"""Of a held message's body beside the request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldPreview:
    """A held message and the beginning of its body; `is_whole` where that is all of it."""

    mail: HeldMail
    excerpt: str
    is_whole: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ContactQuestion:
    """Who asks to write to whom, with the first of the mail that waits for the answer; `held_total` is all of it."""

    contact: Contact
    held: Sequence[HeldPreview]
    held_total: int


def contact_question(view: View, contact: Contact, limit: int) -> ContactQuestion:
    """With at most `limit` of the mail, the oldest first."""
    source, target = contact.source.agent_id, contact.target.agent_id
    held = view.held.list_pair(source, target, limit)
    bodies = view.messages.bodies([MessageId(one.message_id) for one in held])
    texts = [(one, bodies.get(MessageId(one.message_id), "")) for one in held]
    excerpts = [
        HeldPreview(mail=one, excerpt=body[:EXCERPT_CHARACTERS], is_whole=len(body) <= EXCERPT_CHARACTERS)
        for one, body in texts
    ]
    return ContactQuestion(contact=contact, held=excerpts, held_total=view.held.waiting(source, target).messages)

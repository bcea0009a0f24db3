"""Who may write to whom: a row for each link."""

from __future__ import annotations

from dataclasses import dataclass

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import ProjectId
from mcp_agent_mail.domain.addresses import shown_name
from mcp_agent_mail.domain.contacts import Contact, Relation

_WORDS = {
    Relation.NONE: "none",
    Relation.PENDING: "asks",
    Relation.APPROVED: "may write",
    Relation.EXPIRED: "ended",
    Relation.BLOCKED: "denied",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ContactView:
    """`source` and `target` as the project of the page calls them. The rest of each is what its answer is sent with:
    `standing` is the link's, as a word.
    """

    source: str
    source_name: str
    source_project: str
    target: str
    target_name: str
    target_project: str
    relation: str
    standing: str
    reason: str
    updated_ts: Micros
    expires_ts: Micros | None


def contact_view(contact: Contact, seen_from: ProjectId, now: Micros) -> ContactView:
    """A link as it is at `now`."""
    source, target = contact.source, contact.target
    relation = contact.relation(now)
    return ContactView(
        source=shown_name(source.name, source.project_id, source.project_slug, seen_from),
        source_name=source.name,
        source_project=source.project_slug,
        target=shown_name(target.name, target.project_id, target.project_slug, seen_from),
        target_name=target.name,
        target_project=target.project_slug,
        relation=str(relation),
        standing=_WORDS[relation],
        reason=contact.reason,
        updated_ts=contact.updated_ts,
        expires_ts=contact.expires_ts,
    )

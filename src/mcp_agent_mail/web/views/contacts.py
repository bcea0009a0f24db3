"""Who may write to whom: a row for each link."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import ProjectId, read_number
from mcp_agent_mail.domain.addresses import shown_name
from mcp_agent_mail.domain.contacts import HELD_REASON, Contact, LinkStatus, Relation
from mcp_agent_mail.web.addresses import agent_url
from mcp_agent_mail.web.render.circle_layout import AgentGraph, GraphAgent, GraphLine, agent_graph

_WORDS = {
    Relation.NONE: "none",
    Relation.PENDING: "asks",
    Relation.APPROVED: "may write",
    Relation.EXPIRED: "ended",
    Relation.BLOCKED: "denied",
}


_HELD = "It wrote without being a contact, and its mail was held."
"""For a person what HELD_REASON says to the agent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContactView:
    """`source` and `target` as the project of the page calls them. The rest of each is what its answer is sent with:
    `standing` is the link's, as a word; `seen` is what an answer is to, for whoever looks whether it is that still.
    """

    source: str
    source_name: str
    source_project: str
    target: str
    target_name: str
    target_project: str
    relation: str
    standing: str
    seen: str
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
        seen=seen_of(contact),
        reason=_HELD if contact.reason == HELD_REASON else contact.reason,
        updated_ts=contact.updated_ts,
        expires_ts=contact.expires_ts,
    )


_ANSWERED = {"approved": ("Approved", "delivered"), "denied": ("Denied", "returned to the sender")}


def told_answer(did: str, mail: str) -> str:
    """What the answer that led to a page has done, from a known word and a number alone; empty without one."""
    words = _ANSWERED.get(did)
    if words is None:
        return ""
    answer, moved = words
    count = read_number(mail)
    if count is None:
        return f"{answer}."
    if not count:
        return f"{answer}. No held mail was {moved}: none waited."
    return f"{answer}. {count} held {'message was' if count == 1 else 'messages were'} {moved}."


def seen_of(contact: Contact | None) -> str:
    """A request stays what it was while it waits, however often it is made; all else changes with each answer."""
    if contact is None:
        return "none"
    if contact.status is LinkStatus.PENDING:
        return str(contact.status)
    return f"{contact.status}-{contact.updated_ts}"


def told_link(contact: Contact | None, now: Micros) -> str:
    """What it is by now, as part of a sentence."""
    if contact is None:
        return "is gone"
    relation = contact.relation(now)
    if relation is Relation.EXPIRED and contact.status is LinkStatus.BLOCKED:
        return "was denied, and is no longer"
    return {
        Relation.PENDING: "waits for an answer again",
        Relation.APPROVED: "is approved",
        Relation.BLOCKED: "is denied",
    }.get(relation, "has ended")


def contact_graph(links: Sequence[ContactView]) -> AgentGraph:
    """The links of a page as lines from who writes to whom it may write."""
    agents: dict[str, GraphAgent] = {}
    for one in links:
        ends = ((one.source, one.source_name, one.source_project), (one.target, one.target_name, one.target_project))
        for label, name, slug in ends:
            agents[label] = GraphAgent(label=label, name=name, href=agent_url(slug, name))
    lines = [
        GraphLine(
            source=one.source,
            target=one.target,
            kind=f"link-{one.relation}",
            said=f"{one.source} to {one.target}: {one.standing}",
            has_tip=True,
        )
        for one in links
    ]
    return agent_graph(list(agents.values()), lines)


def link_kinds(links: Sequence[ContactView]) -> list[tuple[str, str]]:
    """How each standing that there is looks, with its word, for the legend."""
    there = {one.relation for one in links}
    return [(f"link-{relation}", word) for relation, word in _WORDS.items() if relation in there]

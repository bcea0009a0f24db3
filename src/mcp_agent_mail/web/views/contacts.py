"""Who may write to whom: a row for each link."""

from __future__ import annotations

from collections.abc import Sequence

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.ids import ProjectId, read_number
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.addresses import shown_name
from mcp_agent_mail.domain.contacts import HELD_REASON, Contact, LinkStatus, Party, Relation
from mcp_agent_mail.domain.projects import project_name
from mcp_agent_mail.features.contacts.shown_link import seen_of
from mcp_agent_mail.features.oversight.contact_questions import ContactQuestion
from mcp_agent_mail.web.addresses import agent_url
from mcp_agent_mail.web.render.circle_layout import AgentGraph, GraphAgent, GraphLine, agent_graph

_DAY = Micros(86_400 * SECOND)
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
    """`source` and `target` as the project of the page writes to them; `…_shown` as people call them, and `place` the
    project of the target, which two projects may be called. The rest of each is what its answer is sent with:
    `standing` is the link's, as a word; `seen` is what an answer is to, for whoever looks whether it is that still.
    """

    source: str
    source_shown: str
    source_name: str
    source_project: str
    target: str
    target_shown: str
    place: str
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
        source_shown=named_from(source, seen_from),
        source_name=source.name,
        source_project=source.project_slug,
        target=shown_name(target.name, target.project_id, target.project_slug, seen_from),
        target_shown=named_from(target, seen_from),
        place=project_name(target.project_key, target.project_slug),
        target_name=target.name,
        target_project=target.project_slug,
        relation=str(relation),
        standing=_WORDS[relation],
        seen=seen_of(contact),
        reason=_HELD if contact.reason == HELD_REASON else contact.reason,
        updated_ts=contact.updated_ts,
        expires_ts=contact.expires_ts,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedContact:
    """What a message that asks for a contact asks, as it is now: `question` while it can be answered here, else what
    became of it, where `is_open` while it can be answered elsewhere and `was_answered` by whomever.
    """

    row: ContactView
    question: ContactQuestion | None
    is_open: bool
    was_answered: bool
    told: str


def asked_contact(
    contact: Contact, question: ContactQuestion | None, seen_from: ProjectId, now: Micros
) -> AskedContact:
    """Of the link that the message asks for, with its question if it is one of those that are shown."""
    return AskedContact(
        row=contact_view(contact, seen_from, now),
        question=question,
        is_open=contact.relation(now) is Relation.PENDING,
        was_answered=contact.status is not LinkStatus.PENDING,
        told=told_link(contact, now),
    )


_ANSWERED = {
    "approved": ("Approved", "may", "delivered", LinkStatus.APPROVED),
    "denied": ("Denied", "may not", "returned to the sender", LinkStatus.BLOCKED),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerNotice:
    """What an answer has done; `project` and `place` are slug and name of where it can be taken back, None and empty
    where that is not known.
    """

    told: str
    project: str | None = None
    place: str = ""


def answer_notice(did: str, mail: str, link: Contact | None) -> AnswerNotice | None:
    """Of the answer that led to a page, by a known word and a number; None without such a word. Its agents are named
    as the store has them, where their link is by now what the word says.
    """
    words = _ANSWERED.get(did)
    if words is None:
        return None
    answer, may, moved, status = words
    if link is None or link.status is not status:
        return AnswerNotice(told=_told_moved(answer, moved, mail))
    source, target = link.source, link.target
    answer = f"{answer}: {named_from(source, target.project_id)} {may} write to {target.name}"
    place = project_name(target.project_key, target.project_slug)
    return AnswerNotice(told=_told_moved(answer, moved, mail), project=target.project_slug, place=place)


def named_from(party: Party, seen_from: ProjectId) -> str:
    """As people call an agent: with the name of its project where that is another one."""
    if party.project_id == seen_from:
        return party.name
    return f"{party.name} · {project_name(party.project_key, party.project_slug)}"


def _told_moved(answer: str, moved: str, mail: str) -> str:
    count = read_number(mail)
    if count is None:
        return f"{answer}."
    if not count:
        return f"{answer}. No held mail was {moved}: none waited."
    return f"{answer}. {count} held {'message was' if count == 1 else 'messages were'} {moved}."


def is_answered_so(contact: Contact | None, lasts_s: int | None, now: Micros) -> bool:
    """Whether it stands as an answer would make it: approved for so many seconds from when that was said, or denied
    (None). An approved link says when it was last asked for, which may be a day after that.
    """
    if contact is None:
        return False
    if lasts_s is None:
        return contact.relation(now) is Relation.BLOCKED
    if contact.relation(now) is not Relation.APPROVED or contact.expires_ts is None:
        return False
    said_ts = contact.expires_ts - lasts_s * SECOND
    return contact.updated_ts - _DAY <= said_ts <= contact.updated_ts


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
        ends = (
            (one.source, one.source_shown, one.source_name, one.source_project),
            (one.target, one.target_shown, one.target_name, one.target_project),
        )
        for label, shown, name, slug in ends:
            agents[label] = GraphAgent(label=label, shown=shown, name=name, href=agent_url(slug, name))
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

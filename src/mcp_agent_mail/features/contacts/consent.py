"""Whose mail needs its recipient's consent: the facts are gathered inside the unit of work that stores the mail, the
cheap ones first.

The usual send asks the store one question (`store/mail/send_facts.py`: has the sender any link, has it denied anyone?);
the costly facts (earlier mail, overlapping leases) are looked up for those alone whom the others do not let in.
`DeliveryPolicy` holds the rules, as the settings have them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import AgentId, MessageId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.agents import Agent, AgentKind
from mcp_agent_mail.domain.contacts import (
    AutoScope,
    ContactFacts,
    ContactRules,
    Relation,
    SharedThread,
    Verdict,
    decide,
    reason_of,
)
from mcp_agent_mail.domain.leases import Lease, LeaseKind
from mcp_agent_mail.domain.messages import NewMessage, NewRecipient
from mcp_agent_mail.domain.patterns.budget import PatternsTooHard, WorkBudget
from mcp_agent_mail.domain.patterns.pattern import Pattern, overlap, stored_pattern
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.store.contacts import ContactFlags
from mcp_agent_mail.store.transaction import View


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryPolicy:
    """The rules, as the settings have them, by which a send lets mail through, holds or refuses it."""

    rules: ContactRules
    respects_leases: bool = True
    """A reservation of `.mcp-mail/…` stops mail to the inboxes it covers."""
    inbox_limit: int = 0
    """How many unread messages an inbox may hold; 0 is no limit."""
    attachments_limit_bytes: int = 0
    """How much a project may keep of all that its mail carries; 0 is no limit."""


_DEFAULT_RULES = ContactRules()
DEFAULT_DELIVERY = DeliveryPolicy(rules=_DEFAULT_RULES)
"""The rules as they are when nothing is set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsentContext:
    """What of the message bears on consent. `now` is the time of the unit."""

    sender: Agent
    project: Project
    thread_id: str | None
    reply_to: MessageId | None
    now: Micros
    concerns: ContactFlags


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsentResult:
    """One recipient whose copy is held or refused, and why."""

    recipient: NewRecipient
    verdict: Verdict
    reason: str
    relation: Relation


def request_context(view: View, sender: Agent, project: Project) -> ConsentContext:
    """What bears on consent for a contact request: a message of no thread that answers nothing."""
    concerns = view.contacts.concerns(sender.id)
    return ConsentContext(
        sender=sender, project=project, thread_id=None, reply_to=None, now=view.now, concerns=concerns
    )


def mail_context(view: View, new: NewMessage, concerns: ContactFlags) -> ConsentContext:
    """What bears on consent for this message, whose sender has these flags."""
    return ConsentContext(
        sender=new.sender,
        project=new.project,
        thread_id=new.thread_id,
        reply_to=new.reply_to,
        now=view.now,
        concerns=concerns,
    )


def check_consent(
    view: View, delivery: DeliveryPolicy, about: ConsentContext, chosen: Sequence[NewRecipient]
) -> dict[AgentId, ConsentResult]:
    """By recipient, in their order, why a copy is held or refused. Who is not named gets its copy at once."""
    closed = _without_cost(view, delivery, about, chosen)
    asked = [one for one, facts in closed if decide(facts) is Verdict.CONTACT_REQUIRED]
    opened: dict[AgentId, ContactFacts] = {}
    if asked:
        known = [facts for _, facts in closed if decide(facts) is Verdict.CONTACT_REQUIRED]
        opened = _add_costly(view, delivery, about, [one.agent for one in asked], known)
    results: dict[AgentId, ConsentResult] = {}
    for one, cheap in closed:
        facts = opened.get(one.agent.id, cheap)
        verdict = decide(facts)
        if verdict is not Verdict.DELIVER:
            reason = reason_of(verdict, facts, one.agent.name)
            results[one.agent.id] = ConsentResult(
                recipient=one, verdict=verdict, reason=reason, relation=facts.relation
            )
    return results


def _without_cost(
    view: View, delivery: DeliveryPolicy, about: ConsentContext, chosen: Sequence[NewRecipient]
) -> list[tuple[NewRecipient, ContactFacts]]:
    """Those whom the cheap facts do not let in. Most recipients of a message are alike: each kind is judged once."""
    sender, relations = about.sender, {}
    if about.concerns.has_links:
        relations = view.contacts.relations(sender.id, [one.agent.id for one in chosen], about.now)
    judged: dict[tuple[object, ...], ContactFacts | None] = {}
    closed: list[tuple[NewRecipient, ContactFacts]] = []
    for one in chosen:
        agent = one.agent
        relation = relations.get(agent.id, Relation.NONE)
        key = (agent.contact_policy, relation, agent.retired_ts, agent.project_id, agent.kind, agent.id == sender.id)
        if key not in judged:
            facts = _facts(delivery.rules, sender, agent, relation)
            judged[key] = None if decide(facts) is Verdict.DELIVER else facts
        known = judged[key]
        if known is not None:
            closed.append((one, known))
    return closed


def _facts(rules: ContactRules, sender: Agent, recipient: Agent, relation: Relation) -> ContactFacts:
    return ContactFacts(
        policy=recipient.contact_policy,
        relation=relation,
        is_retired=recipient.is_retired,
        is_self=sender.id == recipient.id,
        is_overseer=AgentKind.HUMAN in (sender.kind, recipient.kind),
        same_project=sender.project_id == recipient.project_id,
        enforced=rules.enforced,
        scope=rules.scope,
    )


def may_write(rules: ContactRules, sender: Agent, recipient: Agent, relation: Relation) -> bool:
    """Would plain mail be delivered, without thread or answer to help it?"""
    return decide(_facts(rules, sender, recipient, relation)) is Verdict.DELIVER


def _add_costly(
    view: View, delivery: DeliveryPolicy, about: ConsentContext, agents: Sequence[Agent], facts: Sequence[ContactFacts]
) -> dict[AgentId, ContactFacts]:
    answered = view.acquaintance.answers(about.sender.id, about.reply_to)
    known = {agent.id: replace(one, answers=agent.id == answered) for one, agent in zip(facts, agents, strict=True)}
    if delivery.rules.scope is AutoScope.PROJECT:
        return known
    others, sender_id = list(known), about.sender.id
    takes_part: set[AgentId] = set()
    if about.thread_id is not None:
        takes_part = view.acquaintance.taking_part(about.project.id, about.thread_id, [sender_id, *others])
    friends = view.acquaintance.correspondents(sender_id, Micros(about.now - delivery.rules.recent))
    neighbours = overlapping_holders(view, sender_id, others)
    return {
        other: replace(
            one,
            thread=_shared(len(takes_part & {sender_id, other})),
            overlapping_reservations=other in neighbours,
            wrote_to_each_other=other in friends,
        )
        for other, one in known.items()
    }


def _shared(taking_part: int) -> SharedThread:
    return (SharedThread.NONE, SharedThread.ONE, SharedThread.BOTH)[taking_part]


MAX_OWN = 20
MAX_OTHERS = 100
"""Leases that are compared, of the sender and of all the others together: the oldest. Beyond, none is found."""
MAX_STEPS = 20_000
"""Of comparing patterns. Patterns that need more are not found to overlap."""


def overlapping_holders(view: View, agent_id: AgentId, others: Sequence[AgentId]) -> set[AgentId]:
    """Those of `others` who hold a live file reservation that overlaps one of the agent's, shared or exclusive."""
    mine = _patterns(_live(view, agent_id, MAX_OWN))
    found: set[AgentId] = set()
    if not mine:
        return found
    work, room = WorkBudget(MAX_STEPS), MAX_OTHERS
    try:
        for other in others:
            theirs = _live(view, other, room)
            room -= len(theirs)
            if any(overlap(a, b, work) for at, b in _patterns(theirs) for here, a in mine if at == here):
                found.add(other)
            if not room:
                break
    except PatternsTooHard:
        return found
    return found


def _live(view: View, agent_id: AgentId, limit: int) -> list[Lease]:
    leases = view.leases.of_agent(agent_id, limit=limit)
    return [lease for lease in leases if lease.kind is LeaseKind.FILE and lease.is_live(view.now)]


def _patterns(leases: Sequence[Lease]) -> list[tuple[int, Pattern]]:
    """With the project they lie in: paths of two projects have nothing to do with each other."""
    return [
        (
            lease.project_id,
            stored_pattern(lease.path_pattern, is_folder=lease.is_folder, ignore_case=lease.ignore_case),
        )
        for lease in leases
    ]

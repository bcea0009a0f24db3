"""Approving for the target: only what its policy lets through without being asked."""

from __future__ import annotations

from dataclasses import replace

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.domain.agents import AgentKind
from mcp_agent_mail.domain.contacts import ContactRules, LinkStatus, Relation
from mcp_agent_mail.domain.messages import NewRecipient, RecipientKind
from mcp_agent_mail.features.contacts.consent import Desk, look_into, may_write, weigh
from mcp_agent_mail.features.contacts.links import answer
from mcp_agent_mail.features.contacts.results import Asked, Responded
from mcp_agent_mail.store.transaction import Tx


def accept_unasked(tx: Tx, rules: ContactRules, asked: Asked, ttl: Micros) -> Responded | None:
    """An approval never ends sooner for it. None: the request waits for the target itself."""
    if not _is_let_in(tx, rules, asked):
        return None
    expires_ts = Micros(asked.now + ttl)
    if asked.contact.status is LinkStatus.APPROVED and asked.contact.expires_ts is not None:
        expires_ts = max(expires_ts, asked.contact.expires_ts)
    answered = answer(tx, asked.source, asked.target, expires_ts, asked.now)
    return Responded(source=asked.source, target=asked.target, answered=answered, is_verified=False, now=asked.now)


def _is_let_in(tx: Tx, rules: ContactRules, asked: Asked) -> bool:
    """By the target's policy alone: neither an approval that it gave for a time nor a server that asks nobody lets the
    source approve itself. Nobody speaks for a person.
    """
    source, target = asked.source, asked.target
    if target.agent.kind is AgentKind.HUMAN:
        return False
    own_word = replace(rules, enforced=True)
    if asked.contact.relation(asked.now) is Relation.APPROVED:
        return may_write(own_word, source.agent, target.agent, Relation.NONE)
    about = look_into(tx, source.agent, source.project, now=asked.now)
    mail = NewRecipient(agent=target.agent, project=target.project, kind=RecipientKind.TO)
    return not weigh(tx, Desk(rules=own_word), about, [mail])

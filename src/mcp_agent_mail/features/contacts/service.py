"""Contacts: asking, answering, policies and lists, one use case each. A transaction begins and ends here.

`request_within` and `accept_within` are for the units of macros.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.domain.agents import Agent, AgentKind, ContactPolicy
from mcp_agent_mail.domain.contacts import Contact, ContactRules, LinkStatus, Relation
from mcp_agent_mail.domain.identity.caller import Caller
from mcp_agent_mail.domain.messages import NewRecipient, RecipientKind
from mcp_agent_mail.features.contacts.consent import DeliveryPolicy, check_consent, may_write, request_context
from mcp_agent_mail.features.contacts.links import LinkRequest, answer, ask, close_request
from mcp_agent_mail.features.contacts.results import (
    ContactAnswered,
    ContactList,
    ContactRequested,
    Direction,
    HeldList,
    ListedContact,
    PolicySet,
)
from mcp_agent_mail.features.contacts.shown_link import expected_link, require_as_seen
from mcp_agent_mail.features.contacts.swapped_agents import (
    answer_call,
    request_call,
    require_asked,
    telling_of_swap,
)
from mcp_agent_mail.features.contacts.targets import ContactTarget, require_source_of, require_target
from mcp_agent_mail.features.identity.actor import Actor, AgentRetired, require_actor, require_actor_in
from mcp_agent_mail.features.identity.admission import NamingRules
from mcp_agent_mail.features.identity.register import record_event
from mcp_agent_mail.features.identity.service import require_changeable
from mcp_agent_mail.features.projects.lookup import require_project, require_writable
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.transaction import Tx, View


class ContactService:
    """`note_activity` is told of every agent that acts."""

    def __init__(
        self,
        store: Store,
        *,
        rules: ContactRules,
        new_names: NamingRules,
        note_activity: Callable[[Agent], None],
    ) -> None:
        self._store = store
        self._rules = rules
        self._new_names = new_names
        self._note_activity = note_activity

    async def request(self, caller: Caller, wanted: ContactTarget, *, reason: str, ttl_s: int) -> ContactRequested:
        """Ask an agent to take one's mail. A repeat refreshes the request and never weakens an approval."""
        asked = await self._store.write(lambda tx: self.request_within(tx, caller, wanted, reason=reason, ttl_s=ttl_s))
        self._acted(caller, asked.source.agent)
        return asked

    def request_within(
        self, tx: Tx, caller: Caller, wanted: ContactTarget, *, reason: str, ttl_s: int
    ) -> ContactRequested:
        """`request`, as a part of a larger unit of work."""
        call = request_call(wanted.project_key, wanted.from_agent, wanted.to_agent, wanted.to_project)
        with telling_of_swap(tx, caller, call):
            source = _require_answerer(tx, caller, wanted.project_key, wanted.from_agent)
        now = tx.now
        target, is_new = require_target(tx, caller, source, wanted, self._new_names)
        contact = ask(tx, source, target, LinkRequest(reason=reason, ttl=Micros(ttl_s * SECOND)))
        return ContactRequested(source=source, target=target, contact=contact, now=now, has_registered=is_new)

    def accept_within(self, tx: Tx, asked: ContactRequested, ttl_s: int) -> ContactAnswered | None:
        """Approve the request where the target's policy would take such mail anyway. None where the target has to
        answer itself.
        """
        return _accept_unasked(tx, self._rules, asked, Micros(ttl_s * SECOND))

    async def respond(
        self,
        caller: Caller,
        project_key: str,
        to_agent: str,
        *,
        from_agent: str,
        from_project: str | None,
        accept_for_s: int | None,
    ) -> ContactAnswered:
        """Approve for so many seconds, or deny (None). `from_project` None: the target's own, or where the only one of
        that name asks from.

        Only the target may, and it may without having been asked; the operator may in its place, recorded as the
        operator. Held mail of the pair is delivered or returned. Raises LinkChanged inside `answering_as_seen`.
        """
        expected = expected_link()
        call = answer_call(project_key, to_agent, from_agent, from_project, accept=accept_for_s is not None)

        def unit(tx: Tx) -> ContactAnswered:
            with telling_of_swap(tx, caller, call):
                target = _require_answerer(tx, caller, project_key, to_agent)
            source = require_source_of(tx, target, from_agent, from_project)
            require_asked(tx, source, target, call)
            require_as_seen(tx.contacts.find(source.agent.id, target.agent.id), expected)
            now = tx.now
            expires_ts = None if accept_for_s is None else Micros(now + accept_for_s * SECOND)
            answered = answer(tx, source, target, expires_ts, by_operator=caller.is_operator)
            close_request(tx, source, target, by_operator=caller.is_operator)
            return ContactAnswered(source=source, target=target, answered=answered, now=now)

        responded = await self._store.write(unit)
        self._acted(caller, responded.target.agent)
        return responded

    async def list_(self, caller: Caller, project_key: str, agent_name: str, limit: int) -> ContactList:
        """The agent's links in both directions, for its own eyes and the operator's."""

        def look(view: View) -> ContactList:
            actor = require_actor(view, caller, project_key, agent_name)
            outbound = view.contacts.outbound(actor.agent.id, limit)
            inbound = view.contacts.inbound(actor.agent.id, limit - len(outbound)) if len(outbound) < limit else []
            links = [
                *(self._listed(view, Direction.OUTBOUND, one) for one in outbound),
                *(self._listed(view, Direction.INBOUND, one) for one in inbound),
            ]
            return ContactList(project=actor.project, links=links, now=view.now)

        return await self._store.read(look)

    async def requests(self, caller: Caller, project_key: str, agent_name: str, limit: int) -> ContactList:
        """The requests that wait for the agent's answer, oldest first, for its own eyes and the operator's."""

        def look(view: View) -> ContactList:
            actor = require_actor(view, caller, project_key, agent_name)
            waiting = view.contacts.requests(actor.agent.id, view.now, limit)
            links = [self._listed(view, Direction.INBOUND, one) for one in waiting]
            return ContactList(project=actor.project, links=links, now=view.now)

        return await self._store.read(look)

    def _listed(self, view: View, direction: Direction, contact: Contact) -> ListedContact:
        source, target = view.agents.find(contact.source.agent_id), view.agents.find(contact.target.agent_id)
        assert source is not None, contact
        assert target is not None, contact
        messageable = may_write(self._rules, source, target, contact.relation(view.now))
        return ListedContact(direction=direction, contact=contact, messageable=messageable)

    async def set_policy(self, caller: Caller, project_key: str, agent_name: str, policy: ContactPolicy) -> PolicySet:
        """Set who may write to the agent from now on. Mail that is held stays so until its request is answered."""

        def unit(tx: Tx) -> PolicySet:
            actor = require_actor(tx, caller, project_key, agent_name)
            agent = actor.agent
            require_changeable(agent)
            require_writable(actor.project)
            if agent.contact_policy is not policy:
                now = tx.now
                agent = tx.agents.set_contact_policy(agent.id, policy, now)
                record_event(tx, agent, None if caller.is_operator else agent.id)
            return PolicySet(agent=agent, is_verified=actor.verified)

        done = await self._store.write(unit)
        self._acted(caller, done.agent)
        return done

    async def held(
        self,
        caller: Caller,
        project_key: str,
        agent_name: str,
        direction: Direction,
        *,
        after_id: int = 0,
        limit: int = 200,
    ) -> HeldList:
        """Mail that waits for consent, oldest first: for the agent (inbound), or of it (outbound).

        Who waits to be heard is told to the recipient: sender, subject, when.
        """

        def look(view: View) -> HeldList:
            actor = require_actor(view, caller, project_key, agent_name)
            listed = view.held.list_for if direction is Direction.INBOUND else view.held.list_by
            mail = listed(actor.agent.id, after_id=after_id, limit=limit)
            return HeldList(project=actor.project, agent=actor.agent, direction=direction, mail=mail)

        return await self._store.read(look)

    def _acted(self, caller: Caller, agent: Agent) -> None:
        if not caller.is_operator:
            self._note_activity(agent)


def _require_answerer(view: View, caller: Caller, project_key: str, agent_name: str) -> Actor:
    actor = require_actor_in(view, caller, require_writable(require_project(view, project_key)), agent_name)
    if actor.agent.is_retired:
        raise AgentRetired(
            f"{actor.agent.name} is retired: it neither asks for contacts nor answers.",
            hint="Bring it back with unretire_agent, or act as another agent.",
            data={"agent": actor.agent.name},
        )
    return actor


def _accept_unasked(tx: Tx, rules: ContactRules, asked: ContactRequested, ttl: Micros) -> ContactAnswered | None:
    """Approve the request where the target's policy would take such mail anyway; an approval that stands never ends
    sooner for it. None where the target has to answer itself.
    """
    if not _is_let_in(tx, rules, asked):
        return None
    expires_ts = Micros(asked.now + ttl)
    if asked.contact.status is LinkStatus.APPROVED and asked.contact.expires_ts is not None:
        expires_ts = max(expires_ts, asked.contact.expires_ts)
    answered = answer(tx, asked.source, asked.target, expires_ts)
    return ContactAnswered(source=asked.source, target=asked.target, answered=answered, now=asked.now)


def _is_let_in(tx: Tx, rules: ContactRules, asked: ContactRequested) -> bool:
    """By the target's policy alone: neither an approval that it gave for a time nor a server that asks nobody lets the
    source approve itself. Nobody speaks for a person.
    """
    source, target = asked.source, asked.target
    if target.agent.kind is AgentKind.HUMAN:
        return False
    own_word = replace(rules, enforced=True)
    if asked.contact.relation(asked.now) is Relation.APPROVED:
        return may_write(own_word, source.agent, target.agent, Relation.NONE)
    about = request_context(tx, source.agent, source.project)
    mail = NewRecipient(agent=target.agent, project=target.project, kind=RecipientKind.TO)
    return not check_consent(tx, DeliveryPolicy(rules=own_word), about, [mail])

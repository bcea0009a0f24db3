"""Units of work that store mail: what they check, and everything that happens with one message.

The message, its recipients, the unread counters, one archive event per project involved and the
answer kept for the idempotency key stand or fall together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace

from mcp_agent_mail.core.clock import iso
from mcp_agent_mail.core.errors import InvalidInput
from mcp_agent_mail.core.ids import AgentId, ProjectId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.addresses import shown_name
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.identity.caller import Caller
from mcp_agent_mail.domain.messages import (
    Message,
    NewMessage,
    NewRecipient,
    Recipient,
    RecipientKind,
    Terms,
    reply_subject,
)
from mcp_agent_mail.domain.presence import Presence, PresenceOf
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.domain.threads import (
    require_same_thread,
    reserved_thread,
    root_of_thread,
    thread_of,
)
from mcp_agent_mail.features.attachments.results import ImageLeft
from mcp_agent_mail.features.contacts.consent import ConsentResult, DeliveryPolicy, check_consent, mail_context
from mcp_agent_mail.features.contacts.links import lift_denials
from mcp_agent_mail.features.identity.actor import Actor, require_able, require_actor
from mcp_agent_mail.features.identity.lookup import name_that_leads
from mcp_agent_mail.features.messaging.held_mail import ask_for_held, left_out, require_consent
from mcp_agent_mail.features.messaging.inbox_limits import (
    require_inbox_room,
    require_open_inboxes,
    send_facts,
    skip_full,
    skip_leased,
)
from mcp_agent_mail.features.messaging.recipients import (
    NobodyAddressed,
    Skipped,
    choose_everyone,
    choose_named,
)
from mcp_agent_mail.features.messaging.requests import RecipientList, ReplyRequest, SendRequest
from mcp_agent_mail.features.messaging.visibility import is_visible_to, require_message, require_own_message
from mcp_agent_mail.store.contacts import ContactFlags
from mcp_agent_mail.store.mail.message_events import post as store_message
from mcp_agent_mail.store.transaction import Tx, View


class AlreadyExpired(InvalidInput):
    """A message was to be of use until a time that has passed."""


class BroadcastNamesRecipients(InvalidInput):
    """A broadcast has no `to`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """What became of a message. `message` is None when a broadcast found nobody; `eligible` is a broadcast's.

    `acknowledged`: of a reply that was to acknowledge its original, whether the original is acknowledged.
    `images_left`: images of the body that stayed as they were written. `presences`: of those recipients of whom it is
    known, whether they listened as it was sent.
    """

    actor: Actor
    message: Message | None
    recipients: list[Recipient]
    projects: dict[ProjectId, Project]
    skipped: list[Skipped]
    held: list[Skipped]
    eligible: int | None = None
    acknowledged: bool | None = None
    images_left: tuple[ImageLeft, ...] = ()
    presences: Mapping[AgentId, Presence] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A message that is ready to be stored. `named` are those that the sender wrote to by name; `held` is why."""

    sender: Actor
    new: NewMessage
    chosen: list[NewRecipient]
    skipped: list[Skipped]
    held: list[ConsentResult]
    named: list[NewRecipient]
    concerns: ContactFlags
    eligible: int | None = None


def draft_new(view: View, delivery: DeliveryPolicy, caller: Caller, request: SendRequest) -> Draft:
    """What a send would store now. Raises what it would raise."""
    sender = require_actor(view, caller, request.project_key, request.sender_name)
    require_able(sender, "it sends no mail")
    return compose_new(view, delivery, sender, request)


def compose_new(
    view: View, delivery: DeliveryPolicy, sender: Actor, request: SendRequest, to: Agent | None = None
) -> Draft:
    """A message ready to be stored: its thread, its recipients, and whose copies are held. Raises when it must not be
    sent as asked. `to`: the one recipient, where it is known to be an agent of the sender's project.
    """
    original = None if request.reply_to is None else require_message(view, request.reply_to, sender.agent)
    new = NewMessage(
        sender=sender.agent,
        project=sender.project,
        thread_id=_thread_of(view, sender, request, original),
        topic=request.topic,
        subject=_subject_of(request, original),
        body_md=request.body_md,
        importance=request.importance,
        ack_required=request.ack_required,
        reply_to=request.reply_to,
        is_verified=sender.verified,
        terms=_terms_of(view, sender, request),
        wire_place=request.wire_place,
    )
    delivery = replace_hold(delivery, request.auto_contact_if_blocked)
    if to is not None:
        assert to.project_id == sender.project.id, to
        alone = NewRecipient(agent=to, project=sender.project, kind=RecipientKind.TO)
        return _with_consent(view, delivery, sender, new, [alone])
    if request.broadcast:
        return _broadcast(view, delivery, sender, new, request.recipients)
    named = request.recipients
    if original is not None and named == RecipientList():
        named = RecipientList(to=_default_recipients(view, original, sender))
    chosen = choose_named(view, sender, named)
    if not chosen:
        raise NobodyAddressed(
            "The message has no recipient.",
            hint="Name at least one in to, cc or bcc, or set broadcast=true.",
            data={"parameter": "to"},
        )
    return _with_consent(view, delivery, sender, new, chosen)


def replace_hold(delivery: DeliveryPolicy, hold: bool | None) -> DeliveryPolicy:  # None: as the server is set
    return delivery if hold is None else replace(delivery, rules=replace(delivery.rules, hold=hold))


def _with_consent(
    view: View, delivery: DeliveryPolicy, sender: Actor, new: NewMessage, chosen: list[NewRecipient]
) -> Draft:
    """All or nothing: one recipient who neither takes the mail nor may be asked refuses the message."""
    facts = send_facts(view, sender)
    if delivery.respects_leases:
        require_open_inboxes(view, sender, facts, chosen)
    about = mail_context(view, new, facts.concerns)
    results = check_consent(view, delivery, about, chosen)
    held: list[ConsentResult] = []
    named = chosen
    if results:
        held = require_consent(view, about, results, hold=delivery.rules.hold)
        codes = {one.recipient.agent.id: one.verdict.value for one in held}
        chosen = [replace(one, held_code=codes.get(one.agent.id)) for one in chosen]
    require_inbox_room(view, sender, chosen, delivery.inbox_limit)
    return Draft(sender=sender, new=new, chosen=chosen, skipped=[], held=held, named=named, concerns=about.concerns)


def _broadcast(view: View, delivery: DeliveryPolicy, sender: Actor, new: NewMessage, named: RecipientList) -> Draft:
    """To whom it can; nobody is asked for a contact because of a broadcast."""
    if named.to:
        raise BroadcastNamesRecipients(
            "A broadcast goes to everyone active in the project; to must be empty.",
            hint="Leave to out, or set broadcast=false. cc and bcc may be given.",
            data={"parameter": "to"},
        )
    audience = choose_everyone(view, sender.project, sender.agent)
    chosen = {one.agent.id: one for one in audience.reached}
    by_name = choose_named(view, sender, named) if chosen else []
    for one in by_name:
        chosen.setdefault(one.agent.id, one)
    facts = send_facts(view, sender)
    leased = skip_leased(view, sender, facts, chosen) if delivery.respects_leases else []
    full = skip_full(view, sender, chosen, delivery.inbox_limit)
    about = mail_context(view, new, facts.concerns)
    results = check_consent(view, delivery, about, list(chosen.values()))
    refused = [*leased, *full, *(left_out(one) for one in results.values())]
    return Draft(
        sender=sender,
        new=new,
        chosen=[one for one in chosen.values() if one.agent.id not in results],
        skipped=[*refused, *audience.skipped],
        held=[],
        named=by_name,
        concerns=about.concerns,
        eligible=len(audience.reached),
    )


def _terms_of(view: View, sender: Actor, request: SendRequest) -> Terms:
    if request.valid_until is not None and request.valid_until <= view.now:
        raise AlreadyExpired(
            f"valid_until {iso(request.valid_until)} has passed: it is {iso(view.now)}.",
            hint="Give a later time, or leave valid_until out.",
            data={"parameter": "valid_until", "now": iso(view.now)},
        )
    if request.supersedes is not None:
        require_own_message(view, request.supersedes, sender, "supersede")
    return Terms(valid_until=request.valid_until, supersedes=request.supersedes)


def _subject_of(request: SendRequest, original: Message | None) -> str:
    if request.subject is not None:
        return request.subject
    assert original is not None, request
    return reply_subject(original.subject, "Re:")


def _thread_of(view: View, sender: Actor, request: SendRequest, original: Message | None) -> str | None:
    if original is not None:
        joined = thread_of(original.id, original.thread_id)
        require_same_thread(request.thread_id, joined, original.id)
        return joined
    if request.thread_id is None:
        return None
    root = root_of_thread(request.thread_id)
    if root is not None:
        message = view.messages.find(root)
        if message is None or not is_visible_to(view, message, sender.agent):
            raise reserved_thread(request.thread_id)
    return request.thread_id


def compose_reply(view: View, delivery: DeliveryPolicy, sender: Actor, request: ReplyRequest) -> Draft:
    """A reply ready to be stored: in the original's thread and topic, to its sender when no `to` is named. It
    asks for an acknowledgement only when it says so; importance that is left out is the original's.
    """
    original = require_message(view, request.message_id, sender.agent)
    named = request.recipients
    if not named.to:
        named = replace(named, to=_default_recipients(view, original, sender))
    chosen = choose_named(view, sender, named)
    new = NewMessage(
        sender=sender.agent,
        project=sender.project,
        thread_id=thread_of(original.id, original.thread_id),
        topic=original.topic,
        subject=reply_subject(original.subject, request.subject_prefix),
        body_md=request.body_md,
        importance=original.importance if request.importance is None else request.importance,
        ack_required=bool(request.ack_required),
        reply_to=original.id,
        is_verified=sender.verified,
    )
    return _with_consent(view, delivery, sender, new, chosen)


def _default_recipients(view: View, original: Message, sender: Actor) -> tuple[str, ...]:
    """The original's sender, in whichever project; for one's own message those it was sent `to`."""
    here = sender.project.id
    if original.sender_id != sender.agent.id:
        author = view.agents.find(original.sender_id)
        name = original.sender_name if author is None else name_that_leads(view, author)
        return (shown_name(name, original.project_id, original.project_slug, here),)
    to = [r for r in view.messages.recipients(original.id) if r.kind is RecipientKind.TO]
    if not to:
        raise NobodyAddressed(
            f"Message {original.id} is your own and was sent to nobody openly.",
            hint="Name the recipients in to.",
            data={"parameter": "to"},
        )
    return tuple(shown_name(r.name, r.project_id, r.project_slug, here) for r in to)


def post(tx: Tx, draft: Draft, presence_of: PresenceOf, images_left: tuple[ImageLeft, ...] = ()) -> Sent:
    """Store the message and everything that belongs to it; nothing when a broadcast found nobody. `presence_of` is
    asked inside, and once: what an idempotency key keeps for a repeat says the same as the first answer.
    """
    projects = {draft.sender.project.id: draft.sender.project}
    projects.update((one.project.id, one.project) for one in draft.chosen)
    is_for_somebody = bool(draft.chosen) and draft.eligible != 0
    message, recipients = _store(tx, draft) if is_for_somebody else (None, [])
    return Sent(
        actor=draft.sender,
        message=message,
        recipients=recipients,
        projects=projects,
        skipped=draft.skipped,
        held=[left_out(one) for one in draft.held],
        eligible=draft.eligible,
        images_left=images_left,
        presences={one.agent_id: presence_of(one.agent_id) for one in recipients},
    )


def _store(tx: Tx, draft: Draft) -> tuple[Message, list[Recipient]]:
    tx.require_room()
    message, recipients = store_message(tx, draft.new, draft.chosen)
    if draft.new.terms.valid_until is not None:
        tx.note_expiry(draft.new.terms.valid_until)
    if draft.concerns.has_denied and draft.named:
        lift_denials(tx, draft.sender, [one.agent.id for one in draft.named])
    if draft.held:
        ask_for_held(tx, draft.sender, draft.held)
    return message, recipients

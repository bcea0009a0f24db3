"""What changes links, inside one unit of work: asking, answering, and writing to somebody whom one has denied; and the
mail that tells of it: the introduction, and what is returned to a sender.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.errors import call_text, suggest_call
from mcp_agent_mail.core.ids import AgentId, MessageId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.addresses import shown_name
from mcp_agent_mail.domain.agents import AgentKind, ContactPolicy
from mcp_agent_mail.domain.archive_format.contacts import contact_snapshot
from mcp_agent_mail.domain.contacts import (
    MAX_LINKS_OF_SOURCE,
    MAX_REQUESTS_OF_TARGET,
    Contact,
    LinkStatus,
    Relation,
    SenderDeclined,
    TargetRetired,
    TooManyRequests,
    intro_subject,
)
from mcp_agent_mail.domain.events import EventKind, NewEvent
from mcp_agent_mail.domain.messages import Importance, NewMessage, NewRecipient, ReceiptStep, RecipientKind
from mcp_agent_mail.features.identity.actor import Actor
from mcp_agent_mail.features.identity.system_mail import SystemNotice, post_system_mail
from mcp_agent_mail.store.mail.message_events import end_expired_of, post, record_events, record_receipt
from mcp_agent_mail.store.transaction import Tx

MAX_INTROS = 20
"""Introductions of one agent that its target's answer closes, the newest first: each request has one."""
_ANSWERED = "The operator has answered it."


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkRequest:
    """`is_private`: the intro is for the target's eyes alone, because what it asks for is a blind copy."""

    reason: str
    ttl: Micros
    is_private: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkAnswer:
    """`contact` is None when there was nothing to deny; `changed` counts links, the rest is the mail of the pair."""

    contact: Contact | None
    changed: int
    delivered: Sequence[MessageId] = ()
    returned: Sequence[MessageId] = ()


def ask(tx: Tx, source: Actor, target: Actor, request: LinkRequest) -> Contact:
    """Ask `target` to take mail from `source`. A repeat refreshes; an approval stays one and never ends sooner.

    The intro goes out once for each request: not again while one stands or after it was approved.
    """
    link = tx.contacts.find(source.agent.id, target.agent.id)
    relation = Relation.NONE if link is None else link.relation(tx.now)
    _require_askable(target, relation)
    expires_ts = Micros(tx.now + request.ttl)
    status, reason = LinkStatus.PENDING, request.reason
    if link is not None and relation is Relation.APPROVED:
        status, reason = LinkStatus.APPROVED, request.reason or link.reason
        expires_ts = link.expires_ts or expires_ts
    elif link is not None and relation is Relation.PENDING:
        reason = request.reason or link.reason
    else:
        _require_room(tx, source, target, is_new=link is None)
        tx.require_room()
    lift_denials(tx, source, [target.agent.id])
    contact = _put(tx, source, target, status, reason, expires_ts, source)
    if relation not in (Relation.APPROVED, Relation.PENDING):
        _post_intro(tx, source, target, request)
    return contact


def _require_askable(target: Actor, relation: Relation) -> None:
    name = target.agent.name
    if target.agent.is_retired:
        raise TargetRetired(
            f"{name} is retired: it answers no request.",
            hint="Ask somebody else, or bring it back with unretire_agent.",
            data={"agent": name, "project": target.project.human_key},
        )
    if target.agent.contact_policy is ContactPolicy.BLOCK_ALL:
        raise SenderDeclined(
            f"{name} takes no mail and no contact requests (policy block_all).",
            hint=f"Only {name} can change that. Write to Human if it matters.",
            data={"agent": name, "project": target.project.human_key},
        )
    if relation is Relation.BLOCKED:
        raise SenderDeclined(
            f"{name} has declined your contact.",
            hint=f"That stands until {name} writes to you or approves you. Write to Human if it matters.",
            data={"agent": name, "project": target.project.human_key},
        )


def _require_room(tx: Tx, source: Actor, target: Actor, *, is_new: bool) -> None:
    if tx.contacts.count_requests(target.agent.id, tx.now) >= MAX_REQUESTS_OF_TARGET:
        raise TooManyRequests(
            f"{MAX_REQUESTS_OF_TARGET} contact requests wait for {target.agent.name}'s answer already.",
            hint="Ask again when it has answered some, or write to Human.",
            data={"agent": target.agent.name, "max": MAX_REQUESTS_OF_TARGET},
        )
    if is_new and tx.contacts.count_from(source.agent.id) >= MAX_LINKS_OF_SOURCE:
        raise TooManyRequests(
            f"{source.agent.name} has {MAX_LINKS_OF_SOURCE} links already.",
            hint="Write to agents that you have a link to, or act as another agent.",
            data={"agent": source.agent.name, "max": MAX_LINKS_OF_SOURCE},
        )


def answer(tx: Tx, source: Actor, target: Actor, expires_ts: Micros | None, *, by_operator: bool = False) -> LinkAnswer:
    """The target's word: approved until `expires_ts`, or denied when that is None. `by_operator`: the operator's in its
    place, which is recorded, and told, as that; what becomes of mail is the target's copies' history all the same.

    Approving needs no request. It delivers what the pair has waiting, in the order in which it was held; denying
    returns that to the sender and tells it so.
    """
    link = tx.contacts.find(source.agent.id, target.agent.id)
    reason = "" if link is None else link.reason
    by = None if by_operator else target
    if expires_ts is not None:
        if link is None:
            tx.require_room()
        contact = _put(tx, source, target, LinkStatus.APPROVED, reason, expires_ts, by)
        end_expired_of(tx, tx.held.replace(source.agent.id, target.agent.id))
        delivered = tx.held.deliver(source.agent.id, target.agent.id, tx.now)
        record_events(tx, delivered, target.agent.id)
        return LinkAnswer(contact=contact, changed=1, delivered=delivered)
    if link is None or link.relation(tx.now) is Relation.BLOCKED:
        return LinkAnswer(contact=link, changed=0)
    contact = _put(tx, source, target, LinkStatus.BLOCKED, reason, None, by)
    returned = tx.held.refuse(source.agent.id, target.agent.id, tx.now)
    record_events(tx, returned, target.agent.id)
    if not source.agent.is_retired and not source.project.is_archived:
        called = shown_name(target.agent.name, target.project.id, target.project.slug, source.project.id)
        subjects = [(one, tx.messages.find_head(one)) for one in returned]
        told = [(one, head.subject) for one, head in subjects if head is not None]
        notice = returned_notice(called, told, by_operator=by_operator)
        post_system_mail(tx, source.project, [source.agent], notice)
    return LinkAnswer(contact=contact, changed=1, returned=returned)


def close_request(tx: Tx, source: Actor, target: Actor, *, by_operator: bool = False) -> None:
    """The target's word is there: the introductions that asked it for that are read and acknowledged. Where the
    operator has answered, the target has read nothing: what it has not is withdrawn, and the rest stays its own.
    """
    if by_operator and target.agent.kind is not AgentKind.HUMAN:
        unread = tx.contacts.unanswered_intros(source.agent.id, target.agent.id, MAX_INTROS, unread=True)
        for message_id in unread:
            tx.ladder.withdraw(message_id, tx.now, _ANSWERED)
        record_events(tx, unread, None)
        return
    asked = tx.contacts.unanswered_intros(source.agent.id, target.agent.id, MAX_INTROS)
    states = tx.inboxes.acknowledge_all(target.agent.id, asked, tx.now)
    for message_id, state in states.items():
        if state.changed:
            record_receipt(tx, target.agent, message_id, ReceiptStep.ACKNOWLEDGED, state)


def lift_denials(tx: Tx, writer: Actor, others: Collection[AgentId]) -> None:
    """End the writer's denials of these agents: who writes to somebody takes its denial back."""
    for contact in tx.contacts.lift(writer.agent.id, others, tx.now):
        _tell(tx, contact, writer)


def _put(
    tx: Tx,
    source: Actor,
    target: Actor,
    status: LinkStatus,
    reason: str,
    expires_ts: Micros | None,
    by: Actor | None,
) -> Contact:
    contact = tx.contacts.put(
        source.agent.id, target.agent.id, status=status, reason=reason, expires_ts=expires_ts, now=tx.now
    )
    _tell(tx, contact, by)
    return contact


def _tell(tx: Tx, contact: Contact, by: Actor | None) -> None:
    """The archives of both projects. `by` None: the operator."""
    for project_id in dict.fromkeys((contact.target.project_id, contact.source.project_id)):
        acting = None if by is None else shown_name(by.agent.name, by.project.id, by.project.slug, project_id)
        event = NewEvent(
            project_id=project_id,
            kind=EventKind.CONTACT,
            agent_id=None if by is None else by.agent.id,
            message_id=None,
            snapshot=contact_snapshot(contact, project_id, acting),
        )
        tx.outbox.add(event, tx.now)


def _post_intro(tx: Tx, source: Actor, target: Actor, request: LinkRequest) -> None:
    """Past every policy: it is how the target learns that it is asked."""
    called = shown_name(source.agent.name, source.project.id, source.project.slug, target.project.id)
    arguments = {"project_key": target.project.human_key, "to_agent": target.agent.name}
    arguments["from_agent"] = source.agent.name
    if source.project.id != target.project.id:
        arguments["from_project"] = source.project.human_key
    call = suggest_call("respond_contact", arguments)
    new = NewMessage(
        sender=source.agent,
        project=source.project,
        thread_id=None,
        topic=None,
        subject=intro_subject(called),
        body_md=intro_body(called, request.reason, call, _of_operator(called, target)),
        importance=Importance.NORMAL,
        ack_required=True,
        reply_to=None,
        is_private=request.is_private,
        is_verified=source.verified,
    )
    post(tx, new, [NewRecipient(agent=target.agent, project=target.project, kind=RecipientKind.TO)])


_RETURNED_SHOWN = 25


def _of_operator(sender: str, target: Actor) -> str:
    """What a person types for a reader that has no such tool."""
    return shlex.join(["am", "contacts", "approve", target.agent.name, sender, "--project", target.project.human_key])


def intro_body(sender: str, reason: str, call: Mapping[str, Any], command: str) -> str:
    """The text of an introduction, with the calls that approve or decline it, which its recipient alone can make, and
    the operator's command.
    """
    accept = call_text({**call, "arguments": {**call["arguments"], "accept": True}})
    said = f" It says:\n\n{quoted(reason)}\n\n" if reason.strip() else "\n\n"
    return (
        f"{sender} would like to write to you.{said}"
        f"What it sends you waits for your answer. `{accept}` lets it write: you get "
        f"what waits.\n`accept=false` instead turns it down: what waits goes back.\n"
        f"Or the operator answers for you: `{command}`, or `deny` in place of `approve`.\n"
    )


def returned_notice(recipient: str, returned: Sequence[tuple[int, str]], *, by_operator: bool = False) -> SystemNotice:
    """To the sender alone: what it wrote to `recipient` and what became of that is nobody else's."""
    in_place = f"For {recipient} the operator" if by_operator else recipient
    lines = [f"{in_place} has declined your contact. That stands until {recipient} writes to you or approves you."]
    if returned:
        lines += ["", "Not delivered, returned to you:", ""]
        lines += [f"- message {number}: {subject}" for number, subject in returned[:_RETURNED_SHOWN]]
    return SystemNotice(
        subject=f"{recipient} has declined your contact", body_md="\n".join(lines) + "\n", is_private=True
    )


def quoted(text: str) -> str:
    return "\n".join(f"> {line}" for line in text.strip().splitlines())

"""A message of another system, delivered as history: after all mail that is there, read where it was read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import AgentId, MessageId
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.attachments import MAX_ATTACHMENTS, Attachment, media_type_of, shown_name
from mcp_agent_mail.domain.doors.ids import MAX_WIRE_ID, NewWirePlace, WirePlace
from mcp_agent_mail.domain.doors.names import Door
from mcp_agent_mail.domain.importing.fitted_texts import (
    fit_body,
    fit_subject,
    fit_text,
    fit_thread,
    fit_time,
    fit_topic,
)
from mcp_agent_mail.domain.importing.records import SourceAttachment, SourceCopy, SourceKind, SourceMessage, ThreadRef
from mcp_agent_mail.domain.importing.steps import leave_message
from mcp_agent_mail.domain.messages import NewMessage, NewRecipient, RecipientKind
from mcp_agent_mail.features.importing.unit_of_work import RunningUnit
from mcp_agent_mail.store.mail.delivery import PastMail
from mcp_agent_mail.store.mail.message_events import mark_past, post_past
from mcp_agent_mail.store.transaction import Tx


def events_of(source: SourceMessage) -> int:
    """Of at most so many events archives are told of it."""
    steps = sum((one.read_ts or one.ack_ts) is not None for one in source.recipients)
    return 1 + len(source.recipients) + steps + sum(one.ack_ts is not None for one in source.recipients)


def take_message(unit: RunningUnit, source: SourceMessage) -> None:
    """Once. Of what is known from before becomes true here what its recipients have done there since."""
    tally = unit.tally
    known = unit.find(SourceKind.MESSAGE, source.key)
    if known is not None:
        late = [key for key in source.also if unit.find(SourceKind.MESSAGE, key) is None]
        tally.of(SourceKind.MESSAGE).known += 1 + len(source.also) - len(late)
        if late:
            source = _deliver_late(unit, MessageId(known), source, late)
        else:
            tally.of(SourceKind.ATTACHMENT).known += len(source.attachments)
        tally.of(SourceKind.COPY).known += len(source.recipients)
        _go_on(unit, MessageId(known), source)
        return
    body_md, most = fit_body(source.body_md), unit.rules.body_max_bytes
    if len(body_md.encode()) > most:
        leave_message(tally, source, f"its body is over {most:,} bytes (MESSAGE_BODY_MAX_BYTES)")
        return
    carried = _fitting(unit, source)
    tally.of(SourceKind.MESSAGE).added += 1 + len(source.also)
    if unit.tx is None:
        tally.of(SourceKind.COPY).added += len(source.recipients)
        return
    chosen = _recipients(unit, source)
    _post(unit, unit.tx, source, body_md, carried, chosen)


def _deliver_late(
    unit: RunningUnit, message_id: MessageId, source: SourceMessage, late: Sequence[str]
) -> SourceMessage:
    """Rows of a mail that appeared in the source when the rest of it was here: whom it reached by them has it as a
    message of its own. Gives the source's message with the others alone.
    """
    tally, have = unit.tally, {one.agent_id for one in unit.view.messages.recipients(message_id)}
    agents = {one.agent_key: unit.agent(one.agent_key) for one in source.recipients}
    is_there = {key: agent is not None and agent.id in have for key, agent in agents.items()}
    there = tuple(one for one in source.recipients if is_there[one.agent_key])
    missing = tuple(one for one in source.recipients if not is_there[one.agent_key])
    tally.of(SourceKind.MESSAGE).added += len(late)
    carried = _fitting(unit, source)
    rest = replace(source, key=late[0], also=tuple(late[1:]), recipients=missing)
    if unit.tx is None:
        tally.of(SourceKind.COPY).added += len(missing)
    elif missing:
        _post(unit, unit.tx, rest, fit_body(source.body_md), carried, _recipients(unit, rest))
    else:
        message = unit.view.messages.find(message_id)
        assert message is not None, message_id
        unit.take(SourceKind.MESSAGE, late, message_id, message.project_id)
    return replace(source, recipients=there)


def _go_on(unit: RunningUnit, message_id: MessageId, source: SourceMessage) -> None:
    """Nothing is taken back: what was read here stays read, whatever is said there."""
    done = [one for one in source.recipients if one.read_ts is not None or one.ack_ts is not None]
    if not done:
        return
    there = {one.agent_id: one for one in unit.view.messages.recipients(message_id) if one.delivery_seq is not None}
    agents = [(one, agent) for one in done if (agent := unit.agent(one.agent_key)) is not None and agent.id in there]
    behind = [
        (one, agent)
        for one, agent in agents
        if there[agent.id].read_ts is None or (one.ack_ts is not None and there[agent.id].ack_ts is None)
    ]
    if not behind:
        return
    changed = len({agent.id for _, agent in behind})
    if unit.tx is not None:
        changed = len(mark_past(unit.tx, [there[agent.id] for _, agent in behind], _past(source, behind)))
    unit.tally.of(SourceKind.COPY).changed += changed


def _fitting(unit: RunningUnit, source: SourceMessage) -> list[SourceAttachment]:
    """What the message can carry; the rest is counted as left."""
    tally, kept = unit.tally, dict[str | None, SourceAttachment]()
    for one in source.attachments:
        if one.size_bytes > unit.rules.attachment_max_bytes:
            most = f"{unit.rules.attachment_max_bytes:,} bytes (ATTACHMENT_MAX_BYTES)"
            tally.leave(SourceKind.ATTACHMENT, f"it is over {most}")
        elif one.sha256 in kept:
            tally.leave(SourceKind.ATTACHMENT, "its message carries the same content already")
        elif len(kept) >= MAX_ATTACHMENTS:
            tally.leave(SourceKind.ATTACHMENT, f"a message carries at most {MAX_ATTACHMENTS}")
        else:
            kept[one.sha256] = one
    tally.of(SourceKind.ATTACHMENT).added += len(kept)
    return list(kept.values())


def _recipients(unit: RunningUnit, source: SourceMessage) -> list[tuple[SourceCopy, Agent]]:
    """In their order, each agent once: two of the source may be one here."""
    chosen: dict[AgentId, tuple[SourceCopy, Agent]] = {}
    for one in source.recipients:
        agent = unit.agent(one.agent_key)
        assert agent is not None, one
        if agent.id in chosen:
            unit.tally.leave(SourceKind.COPY, "its recipient has it already by another name")
        else:
            chosen[agent.id] = (one, agent)
    unit.tally.of(SourceKind.COPY).added += len(chosen)
    return list(chosen.values())


def _post(
    unit: RunningUnit,
    tx: Tx,
    source: SourceMessage,
    body_md: str,
    carried: Sequence[SourceAttachment],
    chosen: Sequence[tuple[SourceCopy, Agent]],
) -> None:
    sender = unit.agent(source.sender_key)
    assert sender is not None, source.key
    tx.require_room()
    new = NewMessage(
        sender=sender,
        project=unit.require_project(sender),
        thread_id=_thread(unit, source.thread),
        topic=fit_topic(source.topic),
        subject=fit_subject(source.subject, body_md),
        body_md=body_md,
        importance=source.importance,
        ack_required=source.ack_required,
        reply_to=None,
        attachments=tuple(_attachment(unit, one) for one in carried),
        wire_place=_place(tx, source, sender, chosen),
    )
    recipients = [
        NewRecipient(agent=agent, project=unit.require_project(agent), kind=one.kind) for one, agent in chosen
    ]
    message, _ = post_past(tx, new, recipients, _past(source, chosen))
    unit.take(SourceKind.MESSAGE, [source.key, *source.also], message.id, message.project_id)


def _past(source: SourceMessage, copies: Sequence[tuple[SourceCopy, Agent]]) -> PastMail:
    """What was acknowledged was read by then."""
    read: dict[AgentId, Micros] = {}
    acknowledged: dict[AgentId, Micros] = {}
    for one, agent in copies:
        times = [fit_time(at) for at in (one.read_ts, one.ack_ts) if at is not None]
        if times:
            read[agent.id] = min(times)
        if one.ack_ts is not None:
            acknowledged[agent.id] = fit_time(one.ack_ts)
    return PastMail(created_ts=fit_time(source.created_ts), read=read, acknowledged=acknowledged)


def _thread(unit: RunningUnit, thread: ThreadRef | None) -> str | None:
    """A thread that is named by a message follows it to its new number. Of a message that is not here the name stays
    that the thread had.
    """
    if thread is None:
        return None
    if thread.message_key is not None:
        number = unit.find(SourceKind.MESSAGE, thread.message_key)
        return str(number) if number is not None else fit_thread(f"thread-{thread.message_key}")
    return None if thread.name is None or not thread.name.strip() else fit_thread(thread.name)


def _attachment(unit: RunningUnit, source: SourceAttachment) -> Attachment:
    kept = unit.supplies.contents[source.sha256 or ""]
    name = shown_name(fit_text(source.name), kept.kind)
    is_small = kept.content.bytes <= unit.rules.inline_max_bytes
    return Attachment(
        content=kept.content,
        name=name,
        media_type=media_type_of(kept.kind, name),
        is_inline=source.is_inline and kept.kind.is_image and is_small,
    )


def _place(
    tx: Tx, source: SourceMessage, sender: Agent, copies: Sequence[tuple[SourceCopy, Agent]]
) -> NewWirePlace | None:
    """Where it came in by a door, with what its users call it there. Of several with one id at one place each keeps it:
    as if it answered the one before. The place tells a recipient, so it is never a blind one.
    """
    recipient = next((agent for one, agent in copies if one.kind is not RecipientKind.BCC), None)
    if source.door is None or recipient is None:
        return None
    chosen = source.external_id
    if not chosen or len(chosen) > MAX_WIRE_ID or fit_text(chosen) != chosen:
        return NewWirePlace(door=source.door, recipient_id=recipient.id)
    answers: int = tx.wire_ids.newest_had(source.door, chosen, recipient.id, sender.id) or 0
    while (there := tx.wire_ids.at(_at(source.door, chosen, sender, recipient, answers))) is not None:
        answers = there.message_id
    return NewWirePlace(door=source.door, recipient_id=recipient.id, chosen=chosen, answers=answers)


def _at(door: Door, chosen: str, sender: Agent, recipient: Agent, answers: int) -> WirePlace:
    return WirePlace(door=door, external_id=chosen, sender_id=sender.id, recipient_id=recipient.id, answers=answers)

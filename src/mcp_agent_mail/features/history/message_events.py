"""What became of a message: who got it, read it, acknowledged it, when, and which commit says so."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import AgentId, MessageId, ProjectId
from mcp_agent_mail.domain.events import EventKind, RecordedStep
from mcp_agent_mail.domain.messages import Message, ReceiptStep, Recipient
from mcp_agent_mail.features.history.results import AgentAddress, MessageEvent, MessageHistory, RecordedEvent
from mcp_agent_mail.features.messaging.visibility import unknown_message
from mcp_agent_mail.features.projects.lookup import require_project
from mcp_agent_mail.store.transaction import View

_ORDER = list(MessageEvent)


def read_message_events(view: View, message_id: MessageId, project_key: str | None, limit: int) -> MessageHistory:
    """The first `limit` events of a message, for eyes that may see all: blind and held copies too. By time; what has
    the same time in the order in which it can happen.

    Raises UnknownMessage, for one too that is not mail of the project named.
    """
    message = view.messages.find(message_id)
    if message is None:
        raise unknown_message(message_id)
    recipients = view.messages.recipients(message_id)
    involved = {message.project_id, *(one.project_id for one in recipients)}
    seen_from = message.project_id if project_key is None else require_project(view, project_key).id
    if seen_from not in involved:
        raise unknown_message(message_id)
    project = view.projects.find(seen_from)
    assert project is not None
    found = _Steps(view, involved, view.outbox.steps_of(message_id))
    told = [*_events(message, recipients, found), *_replaced(view, message_id, recipients, involved)]
    events = sorted(told, key=lambda one: (one.ts, _ORDER.index(one.event)))
    return MessageHistory(message=message, project=project, events=events[:limit], total=len(events))


class _Steps:
    """The commits of a message's steps, by whom and in which project's archive."""

    def __init__(self, view: View, projects: set[ProjectId], steps: Sequence[RecordedStep]) -> None:
        found = (view.projects.find(project_id) for project_id in projects)
        self._slugs: Mapping[ProjectId, str] = {one.id: one.slug for one in found if one is not None}
        self._first: dict[tuple[ProjectId, EventKind], RecordedStep] = {}
        self._by: dict[tuple[ProjectId, AgentId | None, str | None], RecordedStep] = {}
        self._last: dict[tuple[ProjectId, AgentId | None, str | None], RecordedStep] = {}
        for step in steps:
            self._first.setdefault((step.project_id, step.kind), step)
            self._by.setdefault((step.project_id, step.agent_id, step.step), step)
            self._last[step.project_id, step.agent_id, step.step] = step

    def event(
        self, ts: Micros, event: MessageEvent, agent: AgentAddress | None, step: RecordedStep | None
    ) -> RecordedEvent:
        is_in_git = step is not None and step.hexsha is not None
        return RecordedEvent(
            ts=ts,
            event=event,
            agent=agent,
            hexsha=step.hexsha if step is not None else None,
            archive=self._slugs.get(step.project_id) if step is not None and is_in_git else None,
        )

    def sent(self, project_id: ProjectId) -> RecordedStep | None:
        """The first that the project's archive was told of the message."""
        return self._first.get((project_id, EventKind.MAIL))

    def delivered(self, recipient: Recipient) -> RecordedStep | None:
        if recipient.held_code is None:
            return self.sent(recipient.project_id)
        return self.mail_by(recipient.project_id, recipient.agent_id)

    def mail_by(self, project_id: ProjectId, agent_id: AgentId | None) -> RecordedStep | None:
        """What it was told first because this agent decided on its copy; None is the server, for which it expired."""
        return self._by.get((project_id, agent_id, None))

    def last_mail_by(self, project_id: ProjectId, agent_id: AgentId | None) -> RecordedStep | None:
        """What it was told last because of this agent: its withdrawal, after the sending; or of the server's purge."""
        return self._last.get((project_id, agent_id, None))

    def receipt(self, recipient: Recipient, step: ReceiptStep) -> RecordedStep | None:
        return self._by.get((recipient.project_id, recipient.agent_id, step.value))


def _events(message: Message, recipients: Sequence[Recipient], found: _Steps) -> Iterator[RecordedEvent]:
    home = message.project_id
    sender = AgentAddress(name=message.sender_name, project_id=home, project_slug=message.project_slug)
    sent = found.event(message.created_ts, MessageEvent.SENT, sender, found.sent(home))
    yield replace(sent, supersedes=message.terms.supersedes)
    for one in recipients:
        yield from _events_of_copy(message, one, found)
    if message.terms.withdrawn_ts is not None:
        told = found.last_mail_by(home, message.sender_id)
        yield found.event(message.terms.withdrawn_ts, MessageEvent.WITHDRAWN, sender, told)
    if message.purged_ts is not None:
        yield found.event(message.purged_ts, MessageEvent.PURGED, None, found.last_mail_by(home, None))


def _events_of_copy(message: Message, one: Recipient, found: _Steps) -> Iterator[RecordedEvent]:
    who = _address(one)
    was_held = one.held_code is not None
    if was_held:
        yield found.event(message.created_ts, MessageEvent.HELD, who, found.sent(message.project_id))
    if one.delivered_ts is not None:
        yield found.event(one.delivered_ts, MessageEvent.DELIVERED, who, found.delivered(one))
    if one.refused_ts is not None:
        told = found.mail_by(message.project_id, one.agent_id)
        yield found.event(one.refused_ts, MessageEvent.REFUSED, who, told)
    if one.expired_ts is not None:
        yield found.event(one.expired_ts, MessageEvent.EXPIRED, who, found.mail_by(message.project_id, None))
    acknowledged = found.receipt(one, ReceiptStep.ACKNOWLEDGED)
    if one.read_ts is not None:
        # An acknowledgement of what was unread says both.
        told = found.receipt(one, ReceiptStep.READ) or (acknowledged if one.read_ts == one.ack_ts else None)
        yield found.event(one.read_ts, MessageEvent.READ, who, told)
    if one.ack_ts is not None:
        yield found.event(one.ack_ts, MessageEvent.ACKNOWLEDGED, who, acknowledged)


def _replaced(
    view: View, message_id: MessageId, recipients: Sequence[Recipient], projects: set[ProjectId]
) -> Iterator[RecordedEvent]:
    """The copies that were withdrawn when a later message came: no archive says more of it than that message does."""
    replacements = view.ladder.replacements(message_id)
    newer = {
        number: (_Steps(view, projects, view.outbox.steps_of(number)), view.messages.recipients(number))
        for number in sorted({one.by for one in replacements.values()})
    }
    for one in recipients:
        if (replacement := replacements.get(one.agent_id)) is None:
            continue
        found, reached = newer[replacement.by]
        told = next(found.delivered(new) for new in reached if new.agent_id == one.agent_id)
        event = found.event(replacement.withdrawn_ts, MessageEvent.WITHDRAWN, _address(one), told)
        yield replace(event, superseded_by=replacement.by)


def _address(recipient: Recipient) -> AgentAddress:
    return AgentAddress(name=recipient.name, project_id=recipient.project_id, project_slug=recipient.project_slug)

"""Tells archives what others knew and they did not, or what has no archive yet: as events that wait for Git."""

from __future__ import annotations

from collections.abc import Iterable

from mcp_agent_mail.core.ids import AgentId, MessageId, ProjectId
from mcp_agent_mail.domain.archive_format.layout import (
    Snapshot,
    mail_snapshot,
    project_snapshot,
)
from mcp_agent_mail.domain.events import EventKind, NewEvent
from mcp_agent_mail.features.recovery.people import StandIns
from mcp_agent_mail.store.doors.profiles import record_profile
from mcp_agent_mail.store.transaction import Tx


def tell_behind(tx: Tx, mail: Iterable[tuple[MessageId, ProjectId]], stand_ins: StandIns) -> int:
    """Queue what is missing, and say how many events that are. Projects come first, as in any archive."""
    events = 0
    for project_id in stand_ins.projects:
        project = tx.projects.find(project_id)
        assert project is not None, project_id
        snapshot = project_snapshot(project, tx.aliases.archived(project_id))
        _queue(tx, EventKind.PROJECT, project_id, snapshot)
        events += 1
    for agent_id in stand_ins.agents:
        agent = tx.agents.find(AgentId(agent_id))
        assert agent is not None, agent_id
        record_profile(tx, agent, None)
        events += 1
    for message_id, project_id in mail:
        message = tx.messages.find(message_id)
        assert message is not None, message_id
        snapshot = mail_snapshot(message, tx.messages.recipients(message_id), project_id)
        _queue(tx, EventKind.MAIL, project_id, snapshot, message_id)
        events += 1
    return events


def _queue(
    tx: Tx, kind: EventKind, project_id: ProjectId, snapshot: Snapshot, message_id: MessageId | None = None
) -> None:
    event = NewEvent(project_id=project_id, kind=kind, agent_id=None, message_id=message_id, snapshot=snapshot)
    tx.outbox.add(event, tx.now)

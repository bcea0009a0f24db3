"""A mailbox that was renamed there since the last run: it goes on here, told by mail that is known from before."""

from __future__ import annotations

from collections.abc import Iterator

from mcp_agent_mail.core.ids import AgentId, MessageId
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.doors.names import WireName, is_wire_name
from mcp_agent_mail.domain.importing.records import SourceAgent, SourceKind
from mcp_agent_mail.domain.messages import RecipientKind
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.importing.unit_of_work import RunningUnit
from mcp_agent_mail.store.doors.wire_names import MAX_NAMES_EACH
from mcp_agent_mail.store.transaction import Tx


def find_former(unit: RunningUnit, project: Project, source: SourceAgent) -> Agent | None:
    """The mailbox that has here what this one received and sent there; None where that is not one of the same door, or
    none, or several.
    """
    if source.wire is None:
        return None
    found = set(_owners(unit, source))
    agent = unit.view.agents.find(found.pop()) if len(found) == 1 else None
    if agent is None or agent.project_id != project.id or _own_name(unit, source, agent) is None:
        return None
    return agent


def call_otherwise(unit: RunningUnit, tx: Tx, source: SourceAgent, agent: Agent) -> str | None:
    """Callers of the door reach it under both names, and it is shown by the new one. Gives that: with the system behind
    it where it is another's here; None where neither is free, and it goes on under its former name alone.
    """
    known = _own_name(unit, source, agent)
    assert known is not None, agent
    assert source.wire is not None, source.key
    for name in _names(unit, source):
        there = tx.wire_names.find(agent.project_id, name)
        native = tx.agents.find_by_name(agent.project_id, name)
        if there is None and is_wire_name(name) and (native is None or native.id == agent.id):
            tx.require_room()
            tx.wire_names.rename(known, name)
            if len(tx.wire_names.of_agent(agent.id)) < MAX_NAMES_EACH:
                former = tx.wire_names.add(agent.project_id, agent.id, known.name, tx.now)
                tx.wire_names.own(former, source.wire)
            return name
    return None


def find_same_name(unit: RunningUnit, source: SourceAgent, agent: Agent) -> str | None:
    """By which doors know it already: then it was not renamed, and its store alone is not known by its oldest mail."""
    found = [unit.view.wire_names.find(agent.project_id, name) for name in _names(unit, source)]
    return next((one.name for one in found if one is not None and one.agent_id == agent.id), None)


def _names(unit: RunningUnit, source: SourceAgent) -> tuple[str, str]:
    plain = source.name.strip()
    return plain, f"{plain}-{unit.source.system}"


def _owners(unit: RunningUnit, source: SourceAgent) -> Iterator[AgentId]:
    for key in source.sent:
        number = unit.find(SourceKind.MESSAGE, key)
        message = None if number is None else unit.view.messages.find(MessageId(number))
        if message is not None:
            yield message.sender_id
    for key in source.received:
        number = unit.find(SourceKind.MESSAGE, key)
        if number is not None:
            recipients = unit.view.messages.recipients(MessageId(number))
            yield from (one.agent_id for one in recipients if one.kind is not RecipientKind.BCC)


def _own_name(unit: RunningUnit, source: SourceAgent, agent: Agent) -> WireName | None:
    """The oldest that the door's callers have for it."""
    return next((one for one in unit.view.wire_names.of_agent(agent.id) if one.owner is source.wire), None)

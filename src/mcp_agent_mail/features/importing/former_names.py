"""Whose mail a name of the source has here since an earlier run: its mailbox was renamed there, or its store is not
known any more by its oldest mail.

Only who has the name here already goes on with it. To follow a rename would let a store take over a mailbox by a single
message that is known here: what is new comes to the new name, and the report says where the earlier mail is.
"""

from __future__ import annotations

from collections.abc import Iterator

from mcp_agent_mail.core.ids import AgentId, MessageId
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.doors.names import second_name
from mcp_agent_mail.domain.importing.records import SourceAgent, SourceKind
from mcp_agent_mail.domain.messages import RecipientKind
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.importing.unit_of_work import RunningUnit


def find_former(unit: RunningUnit, project: Project, source: SourceAgent) -> Agent | None:
    """The mailbox that has here what this one received and sent there; None where that is not one of the same door, or
    none, or several.
    """
    if source.wire is None:
        return None
    found = set(_owners(unit, source))
    agent = unit.view.agents.find(found.pop()) if len(found) == 1 else None
    if agent is None or agent.project_id != project.id:
        return None
    own = unit.view.wire_names.of_agent(agent.id)
    return agent if any(one.owner is source.wire for one in own) else None


def find_same_name(unit: RunningUnit, source: SourceAgent, agent: Agent) -> str | None:
    """By which doors know it already: its own, or that with the system behind it."""
    plain = source.name.strip()
    found = [
        unit.view.wire_names.find(agent.project_id, name) for name in (plain, second_name(plain, unit.source.system))
    ]
    return next((one.name for one in found if one is not None and one.agent_id == agent.id), None)


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

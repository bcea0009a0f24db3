"""The records of agents: what their rows say, what their profiles in the archive say, and names out of mail."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any, TypeVar

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import token_hash
from mcp_agent_mail.domain.agents import AttachmentsPolicy, ContactPolicy
from mcp_agent_mail.domain.importing.records import SourceAgent, SourceKind
from mcp_agent_mail.facades.importers.mcp_agent_mail.people import MailAgent, SourcePeople
from mcp_agent_mail.facades.importers.mcp_agent_mail.tables import SourceTables
from mcp_agent_mail.facades.importers.reading_notes import ReadingNotes
from mcp_agent_mail.facades.importers.values import text_of, time_of, whole_of

_Choice = TypeVar("_Choice", bound=StrEnum)


def agents_of_rows(
    tables: SourceTables, people: SourcePeople, notes: ReadingNotes, given: set[str]
) -> Iterator[SourceAgent]:
    """One record for each agent, whatever number of rows it has; `given` gets their keys."""
    for row in tables.agents():
        number = whole_of(row["id"])
        person = people.person(number)
        if person is None:
            notes.leave_out(SourceKind.AGENT, "its row has no number")
        elif person.number != number:
            if person.key in given and _is_same_place(row, person, people):
                notes.leave_out(SourceKind.AGENT, "another row has the same name in the same project: it is one agent")
        elif person.key not in given:
            given.add(person.key)
            token = text_of(row["registration_token"])
            yield _agent(
                person,
                row,
                contact_policy=_choice(ContactPolicy, row["contact_policy"]),
                attachments_policy=_choice(AttachmentsPolicy, row["attachments_policy"]),
                token_hash=token_hash(token) if token else None,
            )


# As JSON has it.
def agent_of_profile(person: MailAgent, profile: Mapping[str, Any]) -> SourceAgent:
    """What an archive tells: no policies, no token."""
    return _agent(person, profile)


# As JSON or the database has it.
def _agent(
    person: MailAgent,
    fields: Mapping[str, Any],
    *,
    contact_policy: ContactPolicy | None = None,
    attachments_policy: AttachmentsPolicy | None = None,
    token_hash: bytes | None = None,
) -> SourceAgent:
    created = time_of(fields.get("inception_ts")) or person.first_ts
    return SourceAgent(
        key=person.key,
        project_key=person.project_key,
        name=person.name,
        created_ts=created,
        last_active_ts=max(time_of(fields.get("last_active_ts")) or Micros(0), person.last_ts, created),
        program=text_of(fields.get("program")),
        model=text_of(fields.get("model")),
        task=text_of(fields.get("task_description")),
        contact_policy=contact_policy,
        attachments_policy=attachments_policy,
        token_hash=token_hash,
    )


def _is_same_place(row: Mapping[str, object], person: MailAgent, people: SourcePeople) -> bool:
    """No ghost of another project, which is counted by itself."""
    return people.project_key(whole_of(row["project_id"])) == person.project_key


def _choice(kind: type[_Choice], value: object) -> _Choice | None:
    try:
        return kind(text_of(value).strip().lower())
    except ValueError:
        return None

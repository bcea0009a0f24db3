"""Who is who: projects by number and by slug, agents by number and by name, and what is only named in mail."""

from __future__ import annotations

from dataclasses import replace

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.doors.names import wire_key
from mcp_agent_mail.domain.importing.records import SourceKind, SourceProject
from mcp_agent_mail.domain.importing.refusals import too_large
from mcp_agent_mail.facades.importers.door_reader import MOST_AGENTS
from mcp_agent_mail.facades.importers.mcp_agent_mail.tables import SourceTables
from mcp_agent_mail.facades.importers.reading_notes import ReadingNotes
from mcp_agent_mail.facades.importers.values import key_of, text_of, time_of, whole_of

MOST_PROJECTS = 20_000
_NOWHERE = "lost-project"
"""The project of what belongs to none that the source still knows."""


@dataclass(slots=True, kw_only=True)
class MailAgent:
    """An agent as far as it must be known before its record is given. `number` is None where no row tells of it."""

    key: str
    project_key: str
    name: str
    number: int | None
    first_ts: Micros
    last_ts: Micros


class SourcePeople:
    """Keys are made of slug and name, so that a database and its archive call everybody alike."""

    def __init__(self, path: object, notes: ReadingNotes) -> None:
        self._path = path
        self._notes = notes
        self.projects: dict[str, SourceProject] = {}
        self.persons: dict[str, MailAgent] = {}
        self._project_of_number: dict[int, str] = {}
        self._person_of_number: dict[int, str] = {}
        self._instead: dict[str, str] = {}
        self._slugs: dict[str, str] = {}

    def read(self, tables: SourceTables) -> None:
        """All rows of projects and agents. Raises SourceUnreadable for more than are kept in mind."""
        for number, slug, human_key, created in tables.projects():
            self.add_project(
                slug=text_of(slug) or f"project-{text_of(number)}",
                human_key=text_of(human_key),
                created_ts=time_of(created) or Micros(0),
                number=whole_of(number),
            )
        for row in tables.agents():
            number = whole_of(row["id"])
            if number is None:
                continue
            project_key = self.project_key(whole_of(row["project_id"]))
            first = time_of(row["inception_ts"]) or self.projects[project_key].created_ts
            last = time_of(row["last_active_ts"]) or first
            person = self.add_person(project_key, text_of(row["name"]), first_ts=first, last_ts=last, number=number)
            self._person_of_number[number] = person.key

    def add_project(self, *, slug: str, human_key: str, created_ts: Micros, number: int | None = None) -> str:
        """The key. A second directory of the same slug is the same project, which is noted."""
        key = self._slugs.setdefault(slug.casefold(), key_of(slug))
        if number is not None:
            self._project_of_number[number] = key
        known = self.projects.get(key)
        if known is None:
            if len(self.projects) >= MOST_PROJECTS:
                raise too_large(self._path, f"it has more than {MOST_PROJECTS:,} projects")
            self.projects[key] = SourceProject(key=key, human_key=human_key or None, slug=slug, created_ts=created_ts)
            return key
        if number is not None:
            self._notes.leave_out(SourceKind.PROJECT, "another row has the same slug: it is one project")
        if human_key and known.human_key and human_key != known.human_key:
            self._notes.note(
                f"Two directories have the slug {slug} and share one project there, {known.human_key} and "
                f"{human_key}: they come in as one project, the first."
            )
        self.projects[key] = replace(
            known,
            human_key=known.human_key or human_key or None,
            created_ts=min((one for one in (known.created_ts, created_ts) if one), default=Micros(0)),
        )
        return key

    def project_key(self, number: int | None) -> str:
        """Of a project that the source does not know any more the key of one that stands for all such."""
        key = None if number is None else self._project_of_number.get(number)
        if key is not None:
            return key
        self._notes.note("Some rows belong to projects that the database does not know any more: they come in as one.")
        return self.add_project(slug=_NOWHERE, human_key="", created_ts=Micros(0))

    def knows_project(self, number: int | None) -> bool:
        return number in self._project_of_number

    def add_person(
        self, project_key: str, name: str, *, first_ts: Micros, last_ts: Micros, number: int | None = None
    ) -> MailAgent:
        """The one of this name, ignoring letter case, that is known; else a new one."""
        key = key_of(project_key, wire_key(name))
        known = self.persons.get(key)
        if known is not None:
            if first_ts:
                known.first_ts = min(known.first_ts or first_ts, first_ts)
            known.last_ts = max(known.last_ts, last_ts)
            return known
        if len(self.persons) >= MOST_AGENTS:
            raise too_large(self._path, f"it has more than {MOST_AGENTS:,} agents")
        person = MailAgent(
            key=key, project_key=project_key, name=name, number=number, first_ts=first_ts, last_ts=last_ts
        )
        self.persons[key] = person
        return person

    def person(self, number: int | None) -> MailAgent | None:
        """By the number of its row, or of one that was taken for it."""
        key = None if number is None else self._person_of_number.get(number)
        return None if key is None else self.persons[self._instead.get(key, key)]

    def person_named(self, project_key: str, name: str) -> MailAgent | None:
        return self.persons.get(key_of(project_key, wire_key(name)))

    def add_lost(self, number: int | None, project: int | None, seen_ts: Micros) -> None:
        """A sender that no row tells of any more, or that has no number that can be read."""
        name = _lost_name(number)
        person = self.add_person(self.project_key(project), name, first_ts=seen_ts, last_ts=seen_ts)
        if number is not None:
            self._person_of_number[number] = person.key

    def sender(self, number: int | None, project: int | None) -> MailAgent | None:
        """`person`, else the one that was added for this number as lost."""
        return self.person(number) or self.person_named(self.project_key(project), _lost_name(number))

    def take_for(self, number: int, real: MailAgent) -> None:
        """What is of this row is of that agent from now on; its own record is not given any more."""
        ghost = self.persons.get(self._person_of_number[number])
        if ghost is not None and ghost is not real and ghost.number == number:
            del self.persons[ghost.key]
            self._instead[ghost.key] = real.key  # Other rows may have its name there too.
        self._person_of_number[number] = real.key

    def numbers(self) -> dict[int, str]:
        """The key of each row's agent, by the row's number."""
        return self._person_of_number


def _lost_name(number: int | None) -> str:
    return f"agent-{number or 0}"

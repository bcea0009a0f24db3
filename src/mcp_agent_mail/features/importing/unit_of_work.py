"""What the parts of one unit of an import share: the store as it is, and what the unit has taken over so far."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field

from mcp_agent_mail.core.ids import AgentId, ProjectId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.archive_format.imports import import_snapshot
from mcp_agent_mail.domain.attachments import ContentKind, StoredContent
from mcp_agent_mail.domain.events import EventKind, NewEvent
from mcp_agent_mail.domain.identity.caller import AgentAuth
from mcp_agent_mail.domain.importing.records import SourceKind, SourceProject, SourceStore
from mcp_agent_mail.domain.importing.report import Tally
from mcp_agent_mail.domain.importing.taken_records import TakenRecord
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.store.transaction import Tx, View


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportRules:
    """Limits of size are kept for history too; sizes in bytes. `home` is the path or slug of the project for sources
    that know none. `auth`: how agents of this server prove who they are.
    """

    home: str
    body_max_bytes: int
    attachment_max_bytes: int
    inline_max_bytes: int
    auth: AgentAuth


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadyContent:
    """A content that is kept, and what it is by its first bytes."""

    content: StoredContent
    kind: ContentKind


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportSupplies:
    """What a unit of work may not draw or read itself: names to choose from, tokens that nobody is told, and the
    contents that its messages carry, which are on disk, by digest.
    """

    candidates: Iterator[str]
    tokens: Iterator[str]
    contents: Mapping[str, ReadyContent] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class RunningUnit:
    """`tx` is None in a dry run, which counts alone. `find_project` finds where a source's project is or would be.
    `named`: the project that was asked for.
    """

    source: SourceStore
    rules: ImportRules
    view: View
    tx: Tx | None
    find_project: Callable[[View, SourceProject], Project | None]
    supplies: ImportSupplies
    context: Mapping[str, SourceProject]
    named: str | None = None
    tally: Tally = field(default_factory=Tally)
    new_names: set[tuple[str, str]] = field(default_factory=set)
    """In a dry run: by the key of the project and of the name, what the unit would make."""
    _taken: dict[tuple[SourceKind, str], TakenRecord] = field(default_factory=dict)

    def find(self, kind: SourceKind, key: str) -> int | None:
        """The number of what the source calls so; None for what was not taken over yet."""
        kept = _kept(key)
        fresh = self._taken.get((kind, kept))
        return self.view.imported.find(self.source, kind, kept) if fresh is None else fresh.number

    def take(self, kind: SourceKind, keys: Sequence[str], number: int, project_id: ProjectId) -> None:
        """By these keys the source's thing is known from now on."""
        for key in dict.fromkeys(map(_kept, keys)):
            self._taken[kind, key] = TakenRecord(kind=kind, key=key, number=number, project_id=project_id)

    def project(self, key: str) -> Project | None:
        """The project of the source's key: as it was taken over, else where it would go."""
        number = self.find(SourceKind.PROJECT, key)
        found = None if number is None else self.view.projects.find(ProjectId(number))
        if found is None and key in self.context:
            return self.find_project(self.view, self.context[key])
        return found

    def agent(self, key: str) -> Agent | None:
        number = self.find(SourceKind.AGENT, key)
        return None if number is None else self.view.agents.find(AgentId(number))

    def require_project(self, agent: Agent) -> Project:
        project = self.view.projects.find(agent.project_id)
        assert project is not None, agent
        return project

    def finish(self, tx: Tx) -> None:
        """Note what was taken over, and tell the archives by which keys it is known."""
        if not self._taken:
            return
        unit_id = tx.imported.add(self.source, self._taken.values(), tx.now)
        for project_id in dict.fromkeys(one.project_id for one in self._taken.values()):
            event = NewEvent(
                project_id=project_id,
                kind=EventKind.IMPORT,
                agent_id=None,
                message_id=None,
                snapshot=import_snapshot(tx.imported.unit(unit_id, project_id)),
            )
            tx.outbox.add(event, tx.now)


def _kept(key: str) -> str:
    """As a key is stored: halves of surrogates, which are no text, are spelled out."""
    return key.encode("utf-8", "backslashreplace").decode()

"""Who is in which project, as the archives tell; and whoever they speak of without a profile.

An archive may be behind, or be left out: then others speak of agents, or of a whole project, that it would tell of.
These are made of what is said of them, and their archive is told so.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import field

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import AgentId, ProjectId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.agents import AgentKind, AttachmentsPolicy, ContactPolicy
from mcp_agent_mail.domain.archive_format.artifacts import ArchivedAgent
from mcp_agent_mail.domain.identity.names import HUMAN, SYSTEM, name_key
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.recovery.mail_copies import CopiesDiffer
from mcp_agent_mail.features.recovery.sources import ArchiveSource, former_slugs
from mcp_agent_mail.store.engine.sqlite.numbers import GAP
from mcp_agent_mail.store.rebuild.database import RebuiltDatabase

_UNKNOWN = "unknown"
LOST_PATH = "/lost/{slug}"
"""Stands for the directory of a project of which others know no more than its slug."""


class ProjectMissing(CopiesDiffer):
    """Others speak of a project that has no archive here."""


@dataclass(slots=True)
class _Lost:
    """What others say of a project without an archive."""

    id: ProjectId | None = None
    human_key: str | None = None
    since: Micros | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StandIns:
    """Projects and agents that were made of what others say of them."""

    projects: list[ProjectId] = field(default_factory=list)
    agents: list[AgentId] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    """Slugs of the projects; `Name@slug` of agents of the others."""


class People:
    """`without`: slugs of projects that are left out."""

    def __init__(self, sources: Sequence[ArchiveSource], database: RebuiltDatabase, without: Collection[str]) -> None:
        self._database = database
        self._by_slug = {slug: source.project.id for slug, source in former_slugs(sources).items()}
        self._by_slug |= {source.slug: source.project.id for source in sources}
        self._slugs = {source.project.id: source.slug for source in sources}
        self._project_of: dict[AgentId, ProjectId] = {}
        self._by_name: dict[tuple[ProjectId, str], AgentId] = {}
        self._lost = {slug: _Lost() for slug in without}
        self._without = frozenset(without)
        self.stand_ins = StandIns()

    @property
    def is_complete(self) -> bool:
        return not self._without

    def add(self, agent: ArchivedAgent) -> None:
        """Into the database too. Raises CopiesDiffer where its id or its name is another's."""
        key = (agent.project_id, name_key(agent.name))
        slug = self._slugs.get(agent.project_id, str(agent.project_id))
        if agent.id in self._project_of or key in self._by_name:
            raise CopiesDiffer(slug, f"{agent.name} (agent {agent.id}) is there twice")
        self._project_of[AgentId(agent.id)] = agent.project_id
        self._by_name[key] = AgentId(agent.id)
        self._database.add_agent(agent)

    def named(self, project_id: ProjectId, name: str) -> AgentId | None:
        return self._by_name.get((project_id, name_key(name)))

    def slug_of(self, project_id: ProjectId) -> str:
        return self._slugs[project_id]

    def is_known(self, agent_id: AgentId) -> bool:
        return agent_id in self._project_of

    def project(self, slug: str, *, by: str) -> ProjectId:
        """Raises ProjectMissing; `by` is whose archive speaks of it."""
        found = self._by_slug.get(slug)
        if found is not None:
            return found
        if slug not in self._lost:
            raise ProjectMissing(slug, f"its archive is missing, and that of {by} speaks of it")
        return self._make(slug)

    def learn(self, slug: str, project_id: ProjectId, human_key: str, at: Micros) -> None:
        """Somebody says more of a project than its slug."""
        lost = self._lost.get(slug)
        if lost is not None:
            lost.id, lost.human_key = project_id, human_key
            lost.since = at if lost.since is None else min(lost.since, at)

    def _make(self, slug: str) -> ProjectId:
        lost = self._lost[slug]
        above = max(self._slugs, default=0) + GAP
        project_id = ProjectId(above) if lost.id is None or lost.id in self._slugs else lost.id
        project = Project(
            id=project_id,
            slug=slug,
            human_key=lost.human_key or LOST_PATH.format(slug=slug),
            created_ts=lost.since or Micros(0),
            archived_ts=None,
        )
        self._by_slug[slug] = project_id
        self._slugs[project_id] = slug
        self._database.add_project(project, ())
        self.stand_ins.projects.append(project_id)
        self.stand_ins.names.append(slug)
        return project_id

    def require(self, agent_id: AgentId, name: str, project_id: ProjectId, at: Micros) -> None:
        """The agent that others know by this name and id: made of that where its archive has not got it yet."""
        if agent_id in self._project_of:
            if self._project_of[agent_id] != project_id:
                raise CopiesDiffer(self._slugs[project_id], f"agent {agent_id} ({name}) is another project's")
            return
        kind = {HUMAN: AgentKind.HUMAN, SYSTEM: AgentKind.SYSTEM}.get(name, AgentKind.AGENT)
        self.add(
            ArchivedAgent(
                id=agent_id,
                project_id=project_id,
                kind=kind,
                name=name,
                program=_UNKNOWN,
                model=_UNKNOWN,
                task_description="",
                inception_ts=at,
                profiled_ts=at,
                retired_ts=None,
                contact_policy=ContactPolicy.AUTO,
                attachments_policy=AttachmentsPolicy.AUTO,
            )
        )
        self.stand_ins.agents.append(agent_id)
        if project_id not in self.stand_ins.projects:
            self.stand_ins.names.append(f"{name}@{self._slugs[project_id]}")

    def complete_stand_ins(self) -> None:
        """Every project has its `Human` and its `System`."""
        above = max(self._project_of, default=0) + GAP
        for project_id in self.stand_ins.projects:
            for name in (HUMAN, SYSTEM):
                if self.named(project_id, name) is None:
                    self.require(AgentId(above), name, project_id, Micros(0))
                    above += 1

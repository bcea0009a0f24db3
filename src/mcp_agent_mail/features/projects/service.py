"""Projects: the use cases. A project comes with `Human`, `System` and the first files of its archive, or not at all."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

from mcp_agent_mail.core.errors import NotFound
from mcp_agent_mail.core.ids import AgentId
from mcp_agent_mail.domain.identity.caller import AgentAuth, Caller, require_proof, require_to_change_project
from mcp_agent_mail.domain.project_identity import IdentityMode, derived_uid, identify
from mcp_agent_mail.domain.projects import Project, canonical_path, is_path
from mcp_agent_mail.features.archiving.places import ArchivePlaces
from mcp_agent_mail.features.projects.ensure import ProjectRequest, doubt_about_new, ensure, record_event
from mcp_agent_mail.features.projects.identities import Identities
from mcp_agent_mail.features.projects.lookup import find_known_path, find_tied, require_project
from mcp_agent_mail.features.projects.results import FoundProject, KnownIdentity
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.ladder import GONE_AT_ONCE
from mcp_agent_mail.store.transaction import Tx, View
from mcp_agent_mail.workspace.identity import WorkspaceIdentities

ALIASES_SHOWN = 200


class UnseenDirectory(NotFound):
    """A working directory was named where the server sees none."""


_FIRST = AgentId(0)


class ProjectService:
    """`tells_gone`: senders learn whose project is archived with their urgent mail, or mail that asks
    for an acknowledgement, unread.
    """

    def __init__(
        self,
        store: Store,
        *,
        places: ArchivePlaces,
        identities: Identities | None = None,
        tells_gone: bool = True,
    ) -> None:
        self._store = store
        self._places = places
        self._tells_gone = tells_gone
        self._identities = identities or Identities(WorkspaceIdentities(), IdentityMode.DIR)

    async def archive_path(self, project: Project) -> Path:
        """Where the project's archive lies, or will be begun in a moment. Raises DirectorySilent."""
        if not self._places.in_workspace:
            return self._places.find(project)
        return await self._identities.looks.look(project.human_key, partial(self._places.find, project))

    async def project_request(self, human_key: str, mode: IdentityMode | None = None) -> ProjectRequest:
        """What `ensure` in a unit of work needs to know of this absolute path. Runs Git only where a mode asks it."""
        written = canonical_path(human_key)
        wanted = mode or self._identities.mode
        is_plain = mode is None and wanted is IdentityMode.DIR
        facts = await (self._identities.marked(human_key) if is_plain else self._identities.look(human_key))
        return ProjectRequest(written=written, facts=facts, identity=identify(facts, wanted))

    async def ensure(self, human_key: str) -> FoundProject:
        """The project of this absolute path, created if it is new. Safe to repeat and to race.

        A path that is a project's key already stays one, even if it has become a symbolic link since.
        """
        written = canonical_path(human_key)
        known = await self._store.read(lambda view: find_known_path(view, written))
        if known is not None and self._identities.mode is IdentityMode.DIR:
            return FoundProject(project=known)
        return await self._ensure(await self.project_request(human_key))

    async def require_directory(self, path: str) -> None:
        """The path is a directory that this server sees. Raises UnseenDirectory, DirectorySilent, TooManyLooks."""
        if not await self._identities.is_directory(path):
            raise UnseenDirectory(
                f"{path:.300} is no directory that this server sees.",
                hint="Nothing was made. Name one that is there, on the server's machine.",
                data={"path": path[:300]},
            )

    async def ensure_identity(self, caller: Caller, human_key: str, mode: IdentityMode | None) -> FoundProject:
        """As `ensure`; and when a mode is given or set, what says which project the directory is. Under `strict` only a
        proven caller is told what Git says of it.
        """
        if mode is not None:
            require_proof(caller, "Asking Git about a directory")
        if mode is None and self._identities.mode is IdentityMode.DIR:
            return await self.ensure(human_key)
        project_request = await self.project_request(human_key, mode)
        ensured = await self._ensure(project_request)
        if caller.auth is AgentAuth.STRICT and not caller.is_verified:
            return ensured
        known = await self._store.read(lambda view: _known(view, ensured.project, project_request))
        return replace(ensured, identity=known)

    async def identity(self, project_key: str) -> KnownIdentity:
        """What says which project a directory is, which may be named by its project's key. Writes nothing."""
        project = await self._store.read(lambda view: require_project(view, project_key))
        path = project_key if is_path(project_key) else project.human_key
        facts = await self._identities.look(path)
        project_request = ProjectRequest(written=path, facts=facts, identity=identify(facts, self._identities.mode))
        return await self._store.read(lambda view: _known(view, project, project_request, aliases=ALIASES_SHOWN))

    async def _ensure(self, project_request: ProjectRequest) -> FoundProject:
        settled: Project | None = await self._store.read(project_request.settled)
        if settled is not None:
            return FoundProject(project=settled)

        def unit(tx: Tx) -> FoundProject:
            doubt = doubt_about_new(tx, project_request)
            return FoundProject(project=ensure(tx, project_request), doubt=doubt)

        return await self._store.write(unit)

    async def set_archived(self, caller: Caller, project_key: str, *, archived: bool) -> Project:
        """Archive a project or bring it back; the first time stands. Nothing of it is lost either way."""

        def unit(tx: Tx) -> tuple[Project, AgentId | None]:
            project = require_project(tx, project_key)
            require_to_change_project(caller, project.id)
            if project.is_archived != archived:
                project = tx.projects.set_archived(project.id, tx.now if archived else None)
                record_event(tx, project, caller)
            return project, self._tell_gone(tx, project, _FIRST)

        changed, rest = await self._store.write(unit)
        while (begin := rest) is not None:
            # In units that hold nobody up: an archived project gets no mail meanwhile.
            rest = await self._store.write(partial(self._tell_gone, project=changed, begin=begin))
        return changed

    def _tell_gone(self, tx: Tx, project: Project, begin: AgentId) -> AgentId | None:
        """Of at most GONE_AT_ONCE copies that lie unread in an archived project; with which agent to go on."""
        if not self._tells_gone or not project.is_archived:
            return None
        return tx.ladder.tell_gone_in(project.id, tx.now, GONE_AT_ONCE, begin)

    async def list_(self, *, include_archived: bool, limit: int, after_id: int) -> list[Project]:
        """The projects with ids above `after_id`, oldest first."""
        return await self._store.read(
            lambda view: view.projects.list_(include_archived=include_archived, limit=limit, after_id=after_id)
        )


def _known(view: View, project: Project, project_request: ProjectRequest, *, aliases: int = 0) -> KnownIdentity:
    tied = None if project_request.identity.tie is None else find_tied(view, project_request.identity.tie)
    return KnownIdentity(
        project=project,
        facts=project_request.facts,
        identity=project_request.identity,
        uid=view.aliases.uid(project.id) or derived_uid(view.meta.store_id(), project.id),
        rival=tied if tied is not None and tied.id != project.id else None,
        aliases=tuple(view.aliases.list_(project.id, aliases)) if aliases else (),
    )

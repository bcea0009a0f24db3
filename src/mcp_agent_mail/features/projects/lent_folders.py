"""The directories of a project that lend files, found and judged in one look: what is handed on is what was judged.

A project's own directory is known by its path without links, as it was when the project was made: one that leads
elsewhere by now is another directory, and so is what a link or `..` of the caller's leads to, unless it is known, or
tied to the project by its identity.
"""

from __future__ import annotations

from pathlib import Path

from mcp_agent_mail.domain.project_identity import IdentityMode, identify
from mcp_agent_mail.domain.projects import Project, UnfitPath, canonical_path, is_path
from mcp_agent_mail.features.projects.identities import Identities
from mcp_agent_mail.features.projects.lookup import find_known_path, find_tied
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.transaction import View
from mcp_agent_mail.workspace.lent_places import LentFolder, ProjectFolders


class FolderLook:
    def __init__(self, store: Store, identities: Identities) -> None:
        self._store = store
        self._identities = identities

    async def find(self, project: Project, project_key: str) -> ProjectFolders:
        """The directory that `project_key` names, where it is one, then the project's own. Raises DirectorySilent,
        TooManyLooks.
        """
        found: dict[Path, LentFolder] = {}
        elsewhere: list[Path] = []
        for path in filter(is_path, dict.fromkeys((project_key.strip(), project.human_key))):
            folder = await self._identities.folder(path)
            if await self._is_of(project, folder):
                found.setdefault(folder.path, folder)
            else:
                elsewhere.append(Path(path))
        return ProjectFolders(found=tuple(found.values()), elsewhere=tuple(elsewhere))

    async def _is_of(self, project: Project, folder: LentFolder) -> bool:
        path = str(folder.path)
        try:
            if canonical_path(path) != path:
                return False
        except UnfitPath:
            return False
        known = await self._store.read(lambda view: find_known_path(view, path))
        if known is not None:
            return known.id == project.id
        return await self._is_tied(project, folder)

    async def _is_tied(self, project: Project, folder: LentFolder) -> bool:
        if self._identities.mode is IdentityMode.DIR or folder.identity is None:
            return False
        path = str(folder.path)
        tie = identify(await self._identities.look(path), self._identities.mode).tie

        def find(view: View) -> Project | None:
            return None if tie is None else find_tied(view, tie)

        tied = await self._store.read(find)
        # What was looked at by its path has to be what is handed on.
        again = await self._identities.folder(path)
        is_same = (again.path, again.identity) == (folder.path, folder.identity)
        return tied is not None and tied.id == project.id and is_same

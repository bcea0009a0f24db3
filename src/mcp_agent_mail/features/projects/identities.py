"""Looks at directories for what says which project they are: on the threads that such looks have."""

from __future__ import annotations

import os
from pathlib import Path

from mcp_agent_mail.core.concurrency.looks import Looks
from mcp_agent_mail.domain.project_identity import IdentityMode, WorkspaceFacts
from mcp_agent_mail.domain.projects import canonical_path
from mcp_agent_mail.features.projects.lookup import resolved_path
from mcp_agent_mail.workspace.identity import WorkspaceIdentities
from mcp_agent_mail.workspace.lent_places import LentFolder, find_folder


class Identities:
    """`mode` is what PROJECT_IDENTITY_MODE says: for calls that name none. All raise DirectorySilent, TooManyLooks."""

    def __init__(self, workspace: WorkspaceIdentities, mode: IdentityMode, *, looks: Looks | None = None) -> None:
        self._workspace = workspace
        self.looks = looks or Looks()
        self.mode = mode

    async def resolved(self, path: str) -> str:
        """The canonical path with symbolic links resolved as far as it exists on this disk."""
        return await self.looks.look(canonical_path(path), lambda: resolved_path(path))

    async def folder(self, path: str) -> LentFolder:
        """What lies at the path now, by its path without links and by what it is."""
        return await self.looks.look(canonical_path(path), lambda: find_folder(Path(path)))

    async def is_directory(self, path: str) -> bool:
        """Whether there is one, now."""
        return await self.looks.look(canonical_path(path), lambda: os.path.isdir(path))  # noqa: PTH112  # never raises

    async def marked(self, path: str) -> WorkspaceFacts:
        """The resolved path and its marks: a few looks at the disk."""
        return await self.looks.look(canonical_path(path), lambda: self._workspace.marked(resolved_path(path)))

    async def look(self, path: str) -> WorkspaceFacts:
        """All that can be known, by Git too; remembered for some seconds."""
        return await self.looks.look(canonical_path(path), lambda: self._workspace.facts(resolved_path(path)))

    async def remote(self, path: str) -> str | None:
        """`host/path` of the remote of the repository around it, None without one: from the repository's own files."""
        return await self.looks.look(canonical_path(path), lambda: self._workspace.remote(resolved_path(path)))

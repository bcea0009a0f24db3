"""Looks at directories for what says which project they are: in threads, a few at a time."""

from __future__ import annotations

import asyncio

from mcp_agent_mail.core.errors import Unavailable
from mcp_agent_mail.domain.project_identity import IdentityMode, WorkspaceFacts
from mcp_agent_mail.features.projects.lookup import resolved_path
from mcp_agent_mail.workspace.identity import WorkspaceIdentities

LOOKS_AT_ONCE = 4
MAX_WAITING = 200


class TooManyLooks(Unavailable):
    """Many callers ask for directories that have not been looked at yet."""


class Identities:
    """`mode` is what PROJECT_IDENTITY_MODE says: for calls that name none."""

    def __init__(self, workspace: WorkspaceIdentities, mode: IdentityMode) -> None:
        self._workspace = workspace
        self._looks = asyncio.Semaphore(LOOKS_AT_ONCE)
        self._waiting = 0
        self.mode = mode

    async def marked(self, path: str) -> WorkspaceFacts:
        """The resolved path and its marks: a few looks at the disk."""
        return await asyncio.to_thread(lambda: self._workspace.marked(resolved_path(path)))

    async def look(self, path: str) -> WorkspaceFacts:
        """All that can be known, by Git too; remembered for some seconds. Raises TooManyLooks."""
        if self._waiting >= MAX_WAITING:
            raise TooManyLooks(
                f"{MAX_WAITING} directories are being looked at.", hint="Call again shortly.", data={"retry_after_s": 1}
            )
        self._waiting += 1
        try:
            async with self._looks:
                return await asyncio.to_thread(lambda: self._workspace.facts(resolved_path(path)))
        finally:
            self._waiting -= 1

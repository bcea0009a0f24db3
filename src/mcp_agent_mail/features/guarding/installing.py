"""The guard into a code repository on the server's machine, and out of it again."""

from __future__ import annotations

import asyncio
from pathlib import Path

from mcp_agent_mail.domain.caller import (
    AgentAuth,
    Caller,
    require_operator,
    require_proven,
    require_to_change_project,
)
from mcp_agent_mail.domain.projects import UnknownProject
from mcp_agent_mail.features.projects.lookup import require_project, require_writable
from mcp_agent_mail.guard.install import Installed, Uninstalled, install_guard, recorded_project, uninstall_guard
from mcp_agent_mail.store.database import Store


class GuardInstallation:
    """Git and the disk are only touched in threads, with the bounds of `guard.install`."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def install(self, caller: Caller, project_key: str, code_repo_path: str) -> Installed:
        """Under `strict` by the operator and the project's own agents. Safe to repeat."""
        project = require_writable(self._store.read(lambda view: require_project(view, project_key)))
        require_to_change_project(caller, project.id)
        return await asyncio.to_thread(install_guard, Path(code_repo_path.strip()), project.human_key)

    async def uninstall(self, caller: Caller, code_repo_path: str) -> Uninstalled:
        """By those who may install for the project that the repository is recorded as. Safe to repeat."""
        require_proven(caller)
        path = Path(code_repo_path.strip())
        recorded = await asyncio.to_thread(recorded_project, path)
        self._require_to_uninstall(caller, recorded)
        return await asyncio.to_thread(uninstall_guard, path)

    def _require_to_uninstall(self, caller: Caller, recorded: str | None) -> None:
        """A repository of a project that this store does not know is the operator's business."""
        try:
            known = self._store.read(lambda view: require_project(view, recorded)) if recorded else None
        except UnknownProject:
            known = None
        if known is not None:
            require_to_change_project(caller, known.id)
        elif caller.auth is AgentAuth.STRICT:
            require_operator(caller)

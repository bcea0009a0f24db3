"""The guard into a code repository on the server's machine, and out of it again."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from mcp_agent_mail.core.concurrency.looks import Looks
from mcp_agent_mail.domain.identity.caller import (
    AgentAuth,
    Caller,
    require_operator,
    require_proof,
    require_to_change_project,
)
from mcp_agent_mail.domain.projects import UnknownProject
from mcp_agent_mail.features.projects.lookup import require_project, require_writable
from mcp_agent_mail.store.database import Store

if TYPE_CHECKING:
    from mcp_agent_mail.guard.hooks.install import Installed, Uninstalled

T = TypeVar("T")

AT_ONCE = 2
WITHIN_S = 30.0


class GuardInstallation:
    """Git and the disk are only touched in threads, with the bounds of `guard.hooks.install`.

    They are a few of its own: many slow repositories make installations wait, and no look for a reservation.
    All raise DirectorySilent, and TooManyLooks.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self.looks = Looks(threads=AT_ONCE, within_s=WITHIN_S)

    async def install(self, caller: Caller, project_key: str, code_repo_path: str) -> Installed:
        """Under `strict` by the operator and the project's own agents. Safe to repeat."""
        project = require_writable(await self._store.read(lambda view: require_project(view, project_key)))
        require_to_change_project(caller, project.id)
        path = Path(code_repo_path.strip())
        return await self._at(path, partial(_install, path, project.human_key))

    async def uninstall(self, caller: Caller, code_repo_path: str) -> Uninstalled:
        """By those who may install for the project that the repository is recorded as. Safe to repeat."""
        require_proof(caller, "Taking a guard away")
        path = Path(code_repo_path.strip())
        recorded = await self._at(path, partial(_recorded_project, path))
        await self._require_to_uninstall(caller, recorded)
        return await self._at(path, partial(_uninstall, path))

    async def _at(self, path: Path, work: Callable[[], T]) -> T:
        return await self.looks.look(str(path), work)

    async def _require_to_uninstall(self, caller: Caller, recorded: str | None) -> None:
        """A repository of a project that this store does not know is the operator's business."""
        try:
            known = await self._store.read(lambda view: require_project(view, recorded)) if recorded else None
        except UnknownProject:
            known = None
        if known is not None:
            require_to_change_project(caller, known.id)
        elif caller.auth is AgentAuth.STRICT:
            require_operator(caller)


# In threads, and imported there: few servers are ever asked.
def _install(path: Path, human_key: str) -> Installed:
    from mcp_agent_mail.guard.hooks.install import install_guard  # noqa: PLC0415

    return install_guard(path, human_key)


def _recorded_project(path: Path) -> str | None:
    from mcp_agent_mail.guard.hooks.install import recorded_project  # noqa: PLC0415

    return recorded_project(path)


def _uninstall(path: Path) -> Uninstalled:
    from mcp_agent_mail.guard.hooks.install import uninstall_guard  # noqa: PLC0415

    return uninstall_guard(path)

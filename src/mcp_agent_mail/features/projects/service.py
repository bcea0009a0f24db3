"""Projects: the use cases. A project comes with `Human`, `System` and the first files of its archive, or not at all."""

from __future__ import annotations

import asyncio
from pathlib import Path

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import ProjectId
from mcp_agent_mail.domain.agents import AgentKind, AttachmentsPolicy, NewAgent
from mcp_agent_mail.domain.archive_layout import profile_snapshot, project_snapshot
from mcp_agent_mail.domain.caller import Caller, require_to_change_project
from mcp_agent_mail.domain.events import EventKind, NewEvent
from mcp_agent_mail.domain.names import HUMAN, SYSTEM
from mcp_agent_mail.domain.projects import Project, canonical_path, plain_slug, slugs_of
from mcp_agent_mail.features.archiving.places import ArchivePlaces
from mcp_agent_mail.features.projects.lookup import require_project, resolved_path
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.view import Tx


class ProjectService:
    def __init__(self, store: Store, *, places: ArchivePlaces) -> None:
        self._store = store
        self._places = places

    async def archive_path(self, project: Project) -> Path:
        """Where the project's archive lies, or will be begun in a moment."""
        return await asyncio.to_thread(self._places.find, project)

    async def ensure(self, human_key: str) -> Project:
        """The project of this absolute path, created if it is new. Safe to repeat and to race.

        A path that is a project's key already stays one, even if it has become a symbolic link since.
        """
        written = canonical_path(human_key)
        known = self._store.read(lambda view: view.projects.find_by_human_key(written))
        if known is not None:
            return known
        resolved = await asyncio.to_thread(resolved_path, human_key)
        return await self._store.write(lambda tx: _ensure(tx, resolved))

    async def set_archived(self, caller: Caller, project_key: str, *, archived: bool) -> Project:
        """Archive a project or bring it back; the first time stands. Nothing of it is lost either way."""

        def unit(tx: Tx) -> Project:
            project = require_project(tx, project_key)
            require_to_change_project(caller, project.id)
            if project.is_archived == archived:
                return project
            now = tx.now()
            changed = tx.projects.set_archived(project.id, now if archived else None)
            _tell_archive(tx, changed, caller, now)
            return changed

        return await self._store.write(unit)

    def list_(self, *, include_archived: bool, limit: int, after_id: int) -> list[Project]:
        """Oldest first."""
        return self._store.read(
            lambda view: view.projects.list_(include_archived=include_archived, limit=limit, after_id=after_id)
        )


def _ensure(tx: Tx, human_key: str) -> Project:
    known = tx.projects.find_by_human_key(human_key)
    if known is not None:
        return known
    now = tx.now()
    slug = next(slug for slug in slugs_of(human_key) if tx.projects.find_by_slug(slug) is None)
    project = tx.projects.add(slug=slug, human_key=human_key, plain_slug=plain_slug(human_key), now=now)
    _tell_archive(tx, project, None, now)
    _add_resident(tx, project.id, AgentKind.HUMAN, HUMAN, now)
    _add_resident(tx, project.id, AgentKind.SYSTEM, SYSTEM, now)
    return project


_TASKS = {
    AgentKind.HUMAN: "The overseer of this project: a person.",
    AgentKind.SYSTEM: "The server's own sender; it receives nothing.",
}


def _add_resident(tx: Tx, project_id: ProjectId, kind: AgentKind, name: str, now: Micros) -> None:
    """`Human` or `System`: in every project from its start, without a token."""
    agent = tx.agents.add(
        NewAgent(
            project_id=project_id,
            kind=kind,
            name=name,
            program="mcp-agent-mail",
            model="none",
            task_description=_TASKS[kind],
            attachments_policy=AttachmentsPolicy.AUTO,
            token_hash=None,
        ),
        now,
    )
    tx.outbox.add(
        NewEvent(
            project_id=project_id,
            kind=EventKind.PROFILE,
            agent_id=None,
            message_id=None,
            snapshot=profile_snapshot(agent),
        ),
        now,
    )


def _tell_archive(tx: Tx, project: Project, caller: Caller | None, now: Micros) -> None:
    is_own_agent = caller is not None and caller.project_id == project.id
    tx.outbox.add(
        NewEvent(
            project_id=project.id,
            kind=EventKind.PROJECT,
            agent_id=caller.agent_id if caller is not None and is_own_agent else None,
            message_id=None,
            snapshot=project_snapshot(project),
        ),
        now,
    )

"""Brings into the outbox what archives lack: what may wait a little, as aliases, which change often; what was there
before archives kept it; and all of an archive that is gone at a start with its whole folder.

Each unit of work takes a few and strikes them off, so that a kill at any instant neither doubles nor loses one. Into an
archive that is gone nothing is written before all of it is queued. One that is there and lacks something was set back
or replaced: it stays refused, and so are all while their common folder is not there.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from pathlib import Path

from mcp_agent_mail.archive.relocation import MOVING_FOLDER
from mcp_agent_mail.core.concurrency.looks import Looks
from mcp_agent_mail.core.concurrency.periodic_work import Periodic
from mcp_agent_mail.core.ids import OutboxSeq
from mcp_agent_mail.domain.archive_format.layout import project_snapshot
from mcp_agent_mail.domain.events import EventKind, NewEvent
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.archiving.protocol import PROJECTS_FOLDER, archive_path
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.mail.overdue_events import record_overdue
from mcp_agent_mail.store.transaction import Tx, View

logger = logging.getLogger("mcp_agent_mail.archiving")

NOTICES_AT_ONCE = 200
PROJECTS_AT_ONCE = 5
UNITS_PER_PASS = 100
INTERVAL_S = 60.0
"""A project's own file is written no more often for its aliases, however many directories become known."""

EVENTS_AT_ONCE = 100
FOLDERS_AT_ONCE = 200


class LostArchives:
    """`look` once at a start; it may be cut off and begun again."""

    def __init__(self, store: Store, storage_root: Path, looks: Looks, *, events_at_once: int = EVENTS_AT_ONCE) -> None:
        self._store = store
        self._root = storage_root
        self._looks = looks
        self._events_at_once = events_at_once

    async def renew(self, is_stopping: Callable[[], bool]) -> list[str]:
        """The slugs of those that are queued to be written anew."""
        known = await self._store.read(_archived_projects)
        folder = str(self._root / PROJECTS_FOLDER)
        renewed: list[str] = []
        for start in range(0, len(known), FOLDERS_AT_ONCE):
            some = known[start : start + FOLDERS_AT_ONCE]
            lost = await self._looks.look(folder, partial(find_lost, self._root, some))
            for project in lost:
                if is_stopping():
                    return renewed
                logger.warning("an archive is gone and is written anew", extra={"facts": {"project": project.slug}})
                await self._queue(project)
                renewed.append(project.slug)
        return renewed

    async def _queue(self, project: Project) -> None:
        # What an archive is made of anew: 38 modules that a server needs for nothing else.
        from mcp_agent_mail.features.archiving.renew import finish_renewal, reopen_some  # noqa: PLC0415

        after: OutboxSeq | None = OutboxSeq(0)
        while after is not None:
            after = await self._store.write(
                partial(reopen_some, project=project, after=after, limit=self._events_at_once)
            )
        await self._store.write(partial(finish_renewal, project=project))


class BackfillWorker:
    """`start()` on the running loop, `await stop()` while the store is still open. At the start it looks for archives
    that are gone, too.
    """

    def __init__(self, store: Store, lost: LostArchives, *, interval_s: float = INTERVAL_S) -> None:
        self._store = store
        self._lost = lost
        self._has_looked_for_lost = False
        self.keeper = Periodic("archive-backfill", self.look, interval_s=interval_s)
        self.start = self.keeper.start
        self.stop = self.keeper.stop

    async def look(self) -> None:
        """One pass, bounded; the next goes on where it ended. Raises what a sick store raises."""
        if not self._has_looked_for_lost:
            await self._lost.renew(lambda: self.keeper.is_stopping)
            self._has_looked_for_lost = True
        for _ in range(UNITS_PER_PASS):
            if not await self._store.read(has_backfill) or self.keeper.is_stopping:
                break
            await self._store.write(queue_backfill)


def has_backfill(view: View) -> bool:
    """Is anything left that no event has told of?"""
    return bool(view.backfill.stale_projects(1) or view.backfill.unqueued_notices(1))


def queue_backfill(tx: Tx, *, notices: int = NOTICES_AT_ONCE) -> None:
    """Queue the next few, and strike them off."""
    for message_id in tx.backfill.unqueued_notices(notices):
        record_overdue(tx, message_id)
        tx.backfill.drop_notice(message_id)
    for project_id in tx.backfill.stale_projects(PROJECTS_AT_ONCE):
        project = tx.projects.find(project_id)
        assert project is not None, project_id
        event = NewEvent(
            project_id=project_id,
            kind=EventKind.PROJECT,
            agent_id=None,
            message_id=None,
            snapshot=project_snapshot(project, tx.aliases.archived(project_id)),
        )
        tx.outbox.add(event, tx.now)
        tx.backfill.drop_aliases(project_id)


def _archived_projects(view: View) -> list[Project]:
    """Those whose archives have a commit that was noted."""
    found = (view.projects.find(project_id) for project_id in view.outbox.projects_by_last_commit())
    return [project for project in found if project is not None]


def find_lost(storage_root: Path, projects: list[Project]) -> list[Project]:
    """Of projects whose archives have been written to: those with nothing in the place of it, while the folder of all
    archives is there.
    """
    places = {project.id: archive_path(storage_root, project.slug) for project in projects}
    lost = [project for project in projects if not _is_there(storage_root, places[project.id])]
    return lost if all(place.parent.is_dir() for place in places.values()) else []


def _is_there(storage_root: Path, place: Path) -> bool:
    """Also when it leads elsewhere, or is being moved into the store."""
    return place.is_symlink() or place.exists() or (storage_root / MOVING_FOLDER / place.name).exists()

"""Renews an archive without a server: the store's lock first, then the archive's."""

from __future__ import annotations

import asyncio
from typing import Any

from mcp_agent_mail.bootstrap.wiring import archiver_settings
from mcp_agent_mail.cli.offline.store_lock import lone_owner
from mcp_agent_mail.core.errors import in_sentences
from mcp_agent_mail.core.settings.server import Settings
from mcp_agent_mail.features.archiving.artifact_files import Progress
from mcp_agent_mail.features.archiving.protocol import archive_path
from mcp_agent_mail.features.archiving.renew import renew_archive
from mcp_agent_mail.features.projects.lookup import called_by_people, looking_at_disk, require_project
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.engine.sqlite.migrate import require_current


# Plain JSON, as `--json` prints it.
def renew_offline(settings: Settings, key: str, *, progress: Progress | None = None) -> dict[str, Any]:
    """Write the project's lost archive again, and tell what was written; `progress` counts events. Raises StoreOccupied
    while a server runs, NotFound, NothingToRenew, ArchiveRefused.
    """
    with lone_owner(settings):
        require_current(settings.database_path)
        return asyncio.run(_renew(settings, key, progress))


async def _renew(settings: Settings, key: str, progress: Progress | None) -> dict[str, Any]:
    async with Store(settings.database_path, echo=settings.database_echo) as store:
        with looking_at_disk(), called_by_people():
            project = await store.read(lambda view: require_project(view, key))
        renewed = await renew_archive(store, archiver_settings(settings), project, progress=progress)
    # Everything pending was drained: what failed in other archives is not this one's trouble.
    failed = next((failed for failed in renewed.failed if failed.project == project.slug), None)
    return {
        "project": project.slug,
        "path": str(archive_path(settings.storage_root, project.slug)),
        "events": renewed.events,
        "problem": None if failed is None else in_sentences(failed.message, failed.hint),
    }

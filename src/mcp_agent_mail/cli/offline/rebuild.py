"""Makes a store anew of its archives, without a server; or another store beside one."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from dataclasses import asdict
from pathlib import Path
from typing import Any

from mcp_agent_mail.bootstrap.wiring import archiver_settings
from mcp_agent_mail.cli.context import require_settled
from mcp_agent_mail.cli.offline.store_lock import lone_owner, told_without_room
from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.settings.server import Settings
from mcp_agent_mail.features.recovery.rebuilt_store import (
    RebuiltStore,
    StoreCopyPlan,
    Told,
    give_pending,
    rebuild_in_place,
    rebuild_into,
)
from mcp_agent_mail.features.recovery.replaced_store import why_unread


# Plain JSON, as `--json` prints it.
def rebuild_offline(settings: Settings, *, without: Collection[str], told: Told) -> dict[str, Any]:
    """Put a new database, made of the archives, in the place of the present one; `unread`: why that was not asked what
    waits for Git. Raises StoreOccupied beside a server, RebuildRefused, NotInGit, RebuildUnverified.
    """
    with lone_owner(settings):
        of_archiver = archiver_settings(settings)
        pending = give_pending(of_archiver, without=without, progress=told("giving Git what waits"))
        store_id = asyncio.run(pending)
        unread = why_unread(settings.database_path) if store_id is None else None
        return _shown(rebuild_in_place(of_archiver, without=without, store_id=store_id, told=told), unread)


# Likewise.
def rebuild_elsewhere(
    settings: Settings, into: Path, *, without: Collection[str], until: Micros | None, told: Told
) -> dict[str, Any]:
    """Make another store of the archives; a server may run. Raises NotEmpty, RebuildRefused, RebuildUnverified,
    DiskFull.
    """
    require_settled(settings.storage_root)
    plan = StoreCopyPlan(
        without=without,
        until=until,
        most_files=settings.archive_max_tracked_files,
        database=settings.database_path,
    )
    with told_without_room(settings, into):
        return _shown(rebuild_into(settings.storage_root, into, plan, told=told))


def _shown(made: RebuiltStore, unread: str | None = None) -> dict[str, Any]:
    rebuilt = asdict(made.rebuilt)
    return {
        "path": str(made.database),
        **{name: rebuilt[name] for name in ("store_id", "projects", "agents", "messages", "contents")},
        "queued": rebuilt["events"],
        "stand_ins": list(rebuilt["stand_ins"]),
        "kept": None if made.kept is None else str(made.kept),
        "removed": [str(path) for path in made.removed],
        "unread": unread,
        "not_rebuilt": list(rebuilt["not_rebuilt"]),
        "findings": [asdict(finding) for finding in made.findings],
    }

"""Makes one project part of another without a server: the store's lock first, then the archive's."""

from __future__ import annotations

import asyncio
from contextlib import closing
from functools import partial
from typing import Any

from mcp_agent_mail.bootstrap.wiring import archiver_settings
from mcp_agent_mail.cli.offline.store_lock import lone_owner
from mcp_agent_mail.core.clock import system_clock
from mcp_agent_mail.core.errors import in_sentences
from mcp_agent_mail.core.settings.server import Settings
from mcp_agent_mail.domain.adoption import AdoptionPlan
from mcp_agent_mail.features.archiving.artifact_files import Progress
from mcp_agent_mail.features.archiving.offline_drain import drain_in_process
from mcp_agent_mail.features.archiving.protocol import archive_path
from mcp_agent_mail.features.projects.adopt import Adopted, adopt, plan_adoption
from mcp_agent_mail.features.projects.lookup import looking_at_disk
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.engine.sqlite.migrate import require_current
from mcp_agent_mail.store.engine.sqlite.schema import open_own
from mcp_agent_mail.store.transaction import View


# Plain JSON, as `--json` prints it.
def plan_offline(settings: Settings, source: str, target: str) -> dict[str, Any]:
    """What would move; beside a running server too. Raises NotFound, AdoptionRefused."""
    with closing(open_own(settings.database_path)) as connection, looking_at_disk():
        planned = plan_adoption(View(connection, system_clock), source, target)
    return {
        "source": planned.source.slug,
        "target": planned.target.slug,
        "applied": False,
        **_counts(planned.plan),
        "path": str(archive_path(settings.storage_root, planned.target.slug)),
        "problem": None,
    }


# Likewise.
def adopt_offline(settings: Settings, source: str, target: str, *, progress: Progress | None = None) -> dict[str, Any]:
    """Make `source` part of `target` and bring that into Git; what was moved, and `problem` if Git has not all of it
    yet; `progress` counts events. Raises StoreOccupied while a server runs, NotFound, AdoptionRefused.
    """
    with lone_owner(settings):
        require_current(settings.database_path)
        adopted = asyncio.run(_adopt(settings, source, target, progress))
    failed = adopted.failed[0] if adopted.failed else None
    return {
        "source": source,
        "target": adopted.target.slug,
        "applied": True,
        **({} if adopted.plan is None else _counts(adopted.plan)),
        "path": str(archive_path(settings.storage_root, adopted.target.slug)),
        "problem": None if failed is None else in_sentences(failed.message, failed.hint),
    }


async def _adopt(settings: Settings, source: str, target: str, progress: Progress | None) -> Adopted:
    async with Store(settings.database_path, echo=settings.database_echo) as store:
        with looking_at_disk():
            drain = partial(drain_in_process, progress=progress)
            return await adopt(store, archiver_settings(settings), source, target, drain=drain)


def _counts(plan: AdoptionPlan) -> dict[str, int]:
    return {
        "agents": plan.agents,
        "messages": plan.messages,
        "live_leases": plan.live_leases,
        "contacts": plan.contacts,
        "neighbours": len(plan.neighbours),
    }

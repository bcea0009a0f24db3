"""What watches the server: its figures, its locks, and what an agent may learn of them."""

from __future__ import annotations

from pathlib import Path

from mcp_agent_mail.bootstrap.services import Services
from mcp_agent_mail.core.clock import Clock
from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.core.ids import ProjectId
from mcp_agent_mail.core.settings.server import Settings
from mcp_agent_mail.core.store_owner import LOCK_FILE as STORE_LOCK
from mcp_agent_mail.core.store_owner import read_owner
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.archiving.protocol import LOCK_FILE as ARCHIVE_LOCK
from mcp_agent_mail.features.archiving.service import ArchivingService
from mcp_agent_mail.features.introspection.locks import KnownLock
from mcp_agent_mail.features.introspection.recording import Recording
from mcp_agent_mail.features.introspection.service import Directory, IntrospectionService
from mcp_agent_mail.features.introspection.tool_log import ToolLog
from mcp_agent_mail.features.introspection.usage import Usage
from mcp_agent_mail.features.messaging.visibility import find_mailbox
from mcp_agent_mail.features.projects.lookup import require_project
from mcp_agent_mail.store.database import Store


def recording(settings: Settings, store: Store, clock: Clock) -> Recording:
    usage = Usage(clock=clock)
    interval_s = settings.tool_metrics_emit_interval_seconds
    tool_log = ToolLog(usage, interval_s=interval_s) if settings.tool_metrics_emit_enabled else None
    return Recording(usage=usage, queries=store.queries, tool_log=tool_log)


def introspection_service(settings: Settings, store: Store, services: Services, clock: Clock) -> IntrospectionService:
    """Over the finished table of tools."""
    return IntrospectionService(
        services.recording,
        tools=services.tools.specs(),
        directory=_directory(store),
        locks=_locks(settings, services.archiving),
        clock=clock,
    )


def _directory(store: Store) -> Directory:
    """What introspection asks of the slices above it."""

    def find_project(key: str | ProjectId) -> Project | None:
        try:
            if isinstance(key, int):
                return store.read(lambda view: view.projects.find(key))
            return store.read(lambda view: require_project(view, key))
        except AgentMailError:
            return None

    return Directory(
        find_project=find_project,
        find_agent=lambda name, project: store.read(lambda view: find_mailbox(view, name, project)),
    )


def _locks(settings: Settings, archiving: ArchivingService) -> list[KnownLock]:
    store_lock = settings.storage_root / STORE_LOCK
    return [
        KnownLock(path=store_lock, category="store", owner_pid=lambda: _owner_pid(settings.storage_root)),
        KnownLock(
            path=settings.storage_root / ARCHIVE_LOCK,
            category="archive",
            owner_pid=lambda: archiving.archiver_pid,
        ),
    ]


def _owner_pid(storage_root: Path) -> int | None:
    owner = read_owner(storage_root)
    return None if owner is None else owner.pid

"""A store with its services in this process, under a clock that is set: where histories happen and are asked about."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp_agent_mail.bootstrap import build_services
from mcp_agent_mail.bootstrap.services import Services
from mcp_agent_mail.bootstrap.wiring import archiver_settings
from mcp_agent_mail.core.settings.server import Settings, load_settings
from mcp_agent_mail.core.tools import Credentials
from mcp_agent_mail.features.archiving.backfill import has_backfill, queue_backfill
from mcp_agent_mail.features.archiving.offline_drain import drain_in_process
from mcp_agent_mail.features.projects.adopt import adopt
from mcp_agent_mail.features.projects.lookup import looking_at_disk
from mcp_agent_mail.store.database import Store
from tests.seeded_store import SetClock
from tests.server.whole_app import OPERATOR, PLACE

LONG_S = 300.0
ANYBODY = Credentials(via="rpc", origin="histories")
THE_OPERATOR = Credentials(via="local", bearer_token=OPERATOR)
_SETTINGS = {
    "ACK_TTL_ENABLED": "true",
    "ACK_TTL_SECONDS": "3600",
    "ACK_ESCALATION_ENABLED": "true",
    "ACK_ESCALATION_MODE": "file_reservation",
    "KEEP_ORIGINAL_IMAGES": "true",
}
"""So that every kind of record comes about: overdue acknowledgements are told and escalated, mail is held."""


def settings_of(root: Path, database: Path) -> Settings:
    """Of the store at `root`, with nothing of the person's who runs the tests."""
    environ = {
        "AGENT_MAIL_ENV_FILE": os.devnull,
        "STORAGE_ROOT": str(root),
        "DATABASE_URL": f"sqlite:///{database}",
        **_SETTINGS,
    }
    root.mkdir(parents=True, exist_ok=True)
    return load_settings(environ, cwd=root.parent).settings


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """`rows` sees what is committed, over a connection of its own."""

    settings: Settings
    clock: SetClock
    store: Store
    services: Services
    connection: sqlite3.Connection

    # Plain JSON, as the tool gives it.
    async def call(self, tool: str, credentials: Credentials = ANYBODY, /, **arguments: Any) -> Any:
        """Raises AgentMailError."""
        return await self.services.tools.run(tool, arguments, credentials)

    # Likewise.
    async def read(self, uri: str, credentials: Credentials = ANYBODY) -> Any:
        return await self.services.resources.read(uri, credentials)

    # What SQLite gives.
    def rows(self, query: str, *values: Any) -> list[Any]:
        return self.connection.execute(query, values).fetchall()

    async def drain(self) -> None:
        """Everything committed so far is in Git afterwards, what may wait a little too."""
        while await self.store.read(has_backfill):
            await self.store.write(queue_backfill)
        failed = await drain_in_process(self.store, archiver_settings(self.settings), timeout_s=LONG_S)
        assert failed == []

    async def adopt(self, source: str, target: str) -> None:
        """Raises AdoptionRefused."""
        with looking_at_disk():
            adopted = await adopt(self.store, archiver_settings(self.settings), source, target)
        assert adopted.failed == []


@asynccontextmanager
async def open_world(root: Path, database: Path, clock: SetClock) -> AsyncIterator[World]:
    """Over the archives at `root` and a database that may lie elsewhere. Leaving writes what was noted in memory."""
    settings = settings_of(root, database)
    async with Store(database, clock=clock) as store:
        services = build_services(settings, store, place=PLACE, operator_token=OPERATOR, clock=clock)
        try:
            with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
                yield World(settings=settings, clock=clock, store=store, services=services, connection=connection)
        finally:
            await services.close(timeout_s=1.0)

"""The examination of the kill rounds, without a server: the same store, services and drain, in this process.

A server's start costs two seconds and this a fifth of one, so a hundred losses take a minute; some
are examined with a real server too.
"""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from mcp_agent_mail.bootstrap.wiring import archiver_settings
from mcp_agent_mail.cli.gateway.in_process import InProcessGateway
from mcp_agent_mail.core.settings.server import Settings, load_settings
from mcp_agent_mail.features.archiving.offline_drain import drain_in_process
from mcp_agent_mail.features.doctor.verify import verify_archives
from mcp_agent_mail.features.doctor.verify_store import verify_store
from mcp_agent_mail.store.database import Store
from mcp_agent_mail.store.engine.lock import StoreLock
from tests.crash.checks import faults_after
from tests.crash.record import Record
from tests.served import Connection, Served

DRAIN_WITHIN_S = 60.0


def examine(root: Path, record: Record) -> list[str]:
    """What is wrong with a store after a loss of power; nothing is done to it that a start does not do."""
    try:
        with Reopened(root) as store:
            return [*store.failed, *faults_after(store, record, idle_within_s=0)]
    except Exception as broken:  # noqa: BLE001  # A damaged store fails in many ways; each is a finding.
        return [f"the examination ends with {broken!r}"]


def examine_with_a_server(root: Path, record: Record) -> list[str]:
    try:
        with Served(root) as server:
            server.await_drained()
            return faults_after(server, record)
    except AssertionError as broken:
        return [f"the examination ends with {broken}"]


class Reopened(Served):
    """Stands in for a server: drained first, then the same calls, answered by the services in this process."""

    def __init__(self, root: Path) -> None:
        super().__init__(root, port=1)
        self._settings = load_settings({"STORAGE_ROOT": str(root)}, cwd=root.parent).settings
        self.failed: list[str] = []

    def __enter__(self) -> Self:
        self.failed = asyncio.run(_drain(self._settings))
        self._gateway = InProcessGateway(self._settings)
        self._gateway.open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._gateway.close()

    def connect(self, **headers: str) -> Connection:
        assert not headers
        return _InProcess(self._gateway)

    def am(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        assert arguments == ("doctor", "verify")
        findings = verify_store(self.database)
        report = verify_archives(self.root, self.database, progress=lambda _done, _total: None)
        listed = [f"{found.check}: {found.problem}: {found.path}" for found in (*findings, *report.findings)]
        return subprocess.CompletedProcess(arguments, 1 if listed else 0, "; ".join(listed[:10]), "")


class _InProcess(Connection):
    def __init__(self, gateway: InProcessGateway) -> None:
        self._gateway = gateway

    def close(self) -> None:
        """The store stays open: one process owns it once."""

    def call(self, tool: str, /, **arguments: Any) -> Any:
        return self._gateway.call(tool, arguments)


async def _drain(settings: Settings) -> list[str]:
    with StoreLock(settings.storage_root, settings.database_path):
        async with Store(settings.database_path) as store:
            failed = await drain_in_process(store, archiver_settings(settings), timeout_s=DRAIN_WITHIN_S)
    return [f"the archive of {one.project} cannot be written: {one.message}" for one in failed]

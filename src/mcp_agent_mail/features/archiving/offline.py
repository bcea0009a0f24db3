"""The same drain without a server: for commands that have written while holding the store lock."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future

from mcp_agent_mail.core.clock import SECOND, Micros, system_clock
from mcp_agent_mail.core.failpoints import no_fault
from mcp_agent_mail.domain.events import ArchiveCommit
from mcp_agent_mail.features.archiving.launch import ArchiverSettings
from mcp_agent_mail.features.archiving.plan import open_drain
from mcp_agent_mail.features.archiving.reports import Committed, Failed, Report
from mcp_agent_mail.store.database import Store


async def drain_in_process(store: Store, settings: ArchiverSettings, *, timeout_s: float) -> list[Failed]:
    """Bring everything pending into Git, in a worker thread; what could not be, and why.

    The caller holds the store lock; the archive lock is taken here, after it.
    """
    loop = asyncio.get_running_loop()
    failed: list[Failed] = []

    def mark(commit: ArchiveCommit) -> None:
        marking: Future[int] = asyncio.run_coroutine_threadsafe(store.write(lambda tx: tx.outbox.mark(commit)), loop)
        marking.result()

    def report(report: Report) -> None:
        if isinstance(report, Committed):
            mark(report.commit)
        elif isinstance(report, Failed):
            failed.append(report)

    def drain() -> None:
        with open_drain(settings, report=report, reach=no_fault) as opened:
            opened.resume()
            opened.flush(Micros(system_clock() + int(timeout_s * SECOND)))

    await asyncio.to_thread(drain)
    return failed

"""The same drain without a server: for commands that have written while holding the store lock."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future

from mcp_agent_mail.core.clock import SECOND, Micros, system_clock
from mcp_agent_mail.core.failpoints import FaultHook, no_fault
from mcp_agent_mail.domain.events import ArchiveCommit
from mcp_agent_mail.features.archiving.artifact_files import Progress
from mcp_agent_mail.features.archiving.drain import Drain
from mcp_agent_mail.features.archiving.open_drain import open_drain
from mcp_agent_mail.features.archiving.pending_requests import require_done
from mcp_agent_mail.features.archiving.protocol import ArchiverSettings, CheckedOut, CheckOut, Committed, Failed, Report
from mcp_agent_mail.store.database import Store

_CHECK_OUT_S = 3_600.0
_PATIENT_S = 3_600.0
"""A person waits for it, and for nothing else: whatever takes long may."""


async def drain_in_process(
    store: Store,
    settings: ArchiverSettings,
    *,
    timeout_s: float,
    fault_hook: FaultHook = no_fault,
    progress: Progress | None = None,
) -> list[Failed]:
    """Bring everything pending into Git, in a worker thread; what could not be, and why. `progress` counts events.

    The caller holds the store lock; the lock of the archiver is taken here, after it.
    """
    told = None if progress is None else await _counted(store, progress)
    reports = await _run(store, settings, lambda drain: _flush(drain, timeout_s), fault_hook, told)
    return [report for report in reports if isinstance(report, Failed)]


async def check_out_in_process(store: Store, settings: ArchiverSettings, request: CheckOut) -> CheckedOut:
    """Bring a month back into a work tree, however long it takes. Locks as above; raises what it is refused for."""

    def check_out(drain: Drain) -> None:
        drain.check_out(request)
        _flush(drain, _CHECK_OUT_S)

    reports = await _run(store, settings, check_out)
    return require_done(next(report for report in reports if isinstance(report, CheckedOut)))


async def _run(
    store: Store,
    settings: ArchiverSettings,
    work: Callable[[Drain], None],
    fault_hook: FaultHook = no_fault,
    marked: Callable[[int], None] | None = None,
) -> list[Report]:
    """All that the drain reports while it does `work`; commits are marked at once, and `marked` is told of how many
    events.
    """
    loop = asyncio.get_running_loop()
    reports: list[Report] = []

    def mark(commit: ArchiveCommit) -> None:
        marking: Future[int] = asyncio.run_coroutine_threadsafe(store.write(lambda tx: tx.outbox.mark(commit)), loop)
        count = marking.result()
        if marked is not None:
            marked(count)

    def report(report: Report) -> None:
        if isinstance(report, Committed):
            mark(report.commit)
        else:
            reports.append(report)

    def run() -> None:
        with open_drain(settings, report=report, fault_hook=fault_hook, hangs_after_s=_PATIENT_S) as opened:
            opened.resume()
            work(opened)

    await asyncio.to_thread(run)
    return reports


async def _counted(store: Store, progress: Progress) -> Callable[[int], None]:
    """Passes on how many of the events that were pending are marked so far. Called from one thread."""
    total = (await store.read(lambda view: view.outbox.backlog(view.now))).pending_events
    done = 0

    def marked(count: int) -> None:
        nonlocal done
        done += count
        progress(done, max(total, done))

    progress(0, total)
    return marked


def _flush(drain: Drain, timeout_s: float) -> None:
    until = Micros(system_clock() + int(timeout_s * SECOND))
    drain.mend(until)
    drain.flush(until)

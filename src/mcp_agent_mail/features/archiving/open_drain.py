"""The drain, opened as an archiver needs it: alone on the archives, over connections of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from mcp_agent_mail.archive.locks import ArchiveLock
from mcp_agent_mail.archive.ownership import ArchiveOwner
from mcp_agent_mail.archive.repository import GitRun
from mcp_agent_mail.core.clock import Micros, system_clock
from mcp_agent_mail.core.failpoints import FaultHook
from mcp_agent_mail.features.archiving.committer_context import DrainPlan, DrainReaders
from mcp_agent_mail.features.archiving.drain import Drain
from mcp_agent_mail.features.archiving.lease_snapshots import LeaseSnapshots, SnapshotPlace
from mcp_agent_mail.features.archiving.protocol import LOCK_FILE, PROJECTS_FOLDER, ArchiverSettings, Blocked, Report
from mcp_agent_mail.features.archiving.threads import HANGS_AFTER_S
from mcp_agent_mail.store.agents import Agents
from mcp_agent_mail.store.engine.sqlite.schema import open_own
from mcp_agent_mail.store.leases import Leases
from mcp_agent_mail.store.meta import Meta
from mcp_agent_mail.store.outbox import Outbox
from mcp_agent_mail.store.projects import Projects


@contextmanager
def open_drain(
    settings: ArchiverSettings,
    *,
    report: Callable[[Report], None],
    fault_hook: FaultHook,
    hangs_after_s: float = HANGS_AFTER_S,
    converts: bool = False,
) -> Iterator[Drain]:
    """The drain over its own read-only connections, holding the lock of the archiver; waits for a dying holder.

    `converts`: archives of an older version of the format are brought to this one beside everything else.
    """
    root = Path(settings.storage_root)
    with (
        ArchiveLock(
            root / LOCK_FILE,
            timeout_s=settings.lock_timeout_s,
            tell=lambda busy: report(Blocked(message=busy.message, hint=busy.hint)),
        ),
        closing(open_own(Path(settings.database_path))) as connection,
        closing(open_own(Path(settings.database_path))) as for_committers,
    ):
        owner = ArchiveOwner(
            store_id=Meta(connection).store_id(),
            author_name=settings.author_name,
            author_email=settings.author_email,
        )
        plan = DrainPlan(
            projects_path=root / PROJECTS_FOLDER,
            owner=owner,
            interval=Micros(settings.commit_interval_ms * 1_000),
            git_run=GitRun(timeout_s=settings.git_timeout_s),
            in_workspace=settings.in_workspace,
            max_tracked_files=settings.max_tracked_files,
            database_path=Path(settings.database_path),
            lock_timeout_s=settings.lock_timeout_s,
            hangs_after_s=hangs_after_s,
            converts=converts,
        )
        snapshots = LeaseSnapshots(
            SnapshotPlace(folder=plan.projects_path, store_id=owner.store_id, interval=plan.interval),
            Leases(connection),
            Agents(connection),
            report=report,
            clock=system_clock,
        )
        drain = Drain(
            plan,
            DrainReaders(outbox=Outbox(connection), projects=Projects(connection), events=Outbox(for_committers)),
            report=report,
            clock=system_clock,
            fault_hook=fault_hook,
        )
        drain.keep(snapshots)
        with closing(drain):
            yield drain

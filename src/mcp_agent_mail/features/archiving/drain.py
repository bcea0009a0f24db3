"""Brings the outbox into Git: reads pending events, renders them, commits, and reports each commit.

One batch is in memory at a time; what waits, waits in the outbox. Each project goes its own pace:
the first event after a quiet time is committed almost at once, then at most one commit per
interval, so that a busy project makes few and large ones. A project that fails is tried again
later and holds nobody up.

Nothing is asked twice: at the first event of a project its newest sealed commit says what is in
Git already, marked or not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mcp_agent_mail.archive.ownership import Claim
from mcp_agent_mail.archive.packs import Repack
from mcp_agent_mail.archive.repository import SealedCommit
from mcp_agent_mail.archive.writer import ArchiveOwner, ArchiveWriter, is_unfinished
from mcp_agent_mail.core.clock import SECOND, Clock, Micros
from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.core.failpoints import FailPoint, Reach
from mcp_agent_mail.core.ids import OutboxSeq, ProjectId
from mcp_agent_mail.domain.archive_layout import ARCHIVE_FILE, archive_file, batch_files, project_snapshot
from mcp_agent_mail.domain.commit_text import commit_text
from mcp_agent_mail.domain.events import ArchiveCommit, OutboxEvent
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.archiving.reports import Committed, Failed, Recovered, Report
from mcp_agent_mail.store.outbox import MAX_EVENTS, Outbox
from mcp_agent_mail.store.projects import Projects

SETTLE = 20_000
"""Microseconds that the first event after a quiet time waits for company."""

IDLE = 2 * SECOND
_RETRY_FIRST = SECOND
_RETRY_LAST = 60 * SECOND
_REPACK_EVERY = 50
_PAGE = 500
_REPACK_ENDS_S = 10.0
_REPACK_LOOK_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class DrainPlan:
    """Where the archives are, whose they are, and the shortest time between two commits of a project."""

    projects_path: Path
    owner: ArchiveOwner
    interval: Micros
    lock_fds: Sequence[int] = ()


@dataclass(slots=True, kw_only=True)
class _Archive:
    """The pace of one project. `reported`: everything up to here is in Git and was reported."""

    project: Project
    reported: OutboxSeq
    writer: ArchiveWriter | None = None
    due: Micros = field(default=Micros(0))
    is_settling: bool = False
    failures: int = 0
    commits: int = 0


class Drain:
    """Synchronous. Whoever runs it holds the archive lock and a read-only connection under `outbox` and `projects`."""

    def __init__(
        self,
        plan: DrainPlan,
        outbox: Outbox,
        projects: Projects,
        *,
        report: Callable[[Report], None],
        clock: Clock,
        reach: Reach,
    ) -> None:
        self._plan = plan
        self._outbox = outbox
        self._projects = projects
        self._report = report
        self._clock = clock
        self._reach = reach
        self._archives: dict[ProjectId, _Archive] = {}
        self._repacking: Repack | None = None

    def resume(self) -> None:
        """At start: mend the archives that an earlier process left in the middle of something."""
        after = 0
        while page := self._projects.list_(include_archived=True, limit=_PAGE, after_id=after):
            after = page[-1].id
            for project in page:
                if is_unfinished(self._plan.projects_path / project.slug):
                    self._commit(self._archive(project.id))

    def step(self) -> float | None:
        """Do what is due; seconds until something will be, None when only a new event can bring work."""
        waits = [self._visit(project_id) for project_id in self._outbox.pending_projects()]
        waits += [self._tidy(archive) for archive in self._archives.values()]
        waits.append(self._look_after_repack())
        return min((wait for wait in waits if wait is not None), default=None)

    def flush(self, until: Micros) -> int:
        """Commit all that is pending, whatever the pace, then tidy up; stops at `until`.

        Returns how many events are still not in Git: of projects that fail, or for want of time.
        """
        self._reach(FailPoint.DRAIN)
        for project_id in self._outbox.pending_projects():
            archive = self._archive(project_id)
            while self._clock() < until and self._has_work(archive) and self._commit(archive):
                pass
        for archive in self._archives.values():
            if self._clock() < until:
                self._refresh(archive)
        self._end_repack()
        return sum(
            self._outbox.count_pending(project_id, after=self._archive(project_id).reported)
            for project_id in self._outbox.pending_projects()
        )

    def _visit(self, project_id: ProjectId) -> float | None:
        archive = self._archive(project_id)
        if not self._has_work(archive):
            return None
        now = self._clock()
        if now < archive.due:
            return (archive.due - now) / SECOND
        if not archive.is_settling and now - archive.due > SETTLE:
            archive.is_settling = True
            archive.due = Micros(now + SETTLE)
            return SETTLE / SECOND
        archive.is_settling = False
        self._commit(archive)
        return max(0.0, (archive.due - self._clock()) / SECOND) if self._has_work(archive) else None

    def _archive(self, project_id: ProjectId) -> _Archive:
        if project_id not in self._archives:
            project = self._projects.find(project_id)
            assert project is not None, project_id
            last = self._outbox.last_commit(project_id)
            reported = OutboxSeq(0) if last is None else last.last_seq
            self._archives[project_id] = _Archive(project=project, reported=reported)
        return self._archives[project_id]

    def _has_work(self, archive: _Archive) -> bool:
        return self._outbox.has_pending(archive.project.id, after=archive.reported)

    def _commit(self, archive: _Archive) -> bool:
        """Commit the oldest batch; False when the archive cannot be written, which is reported."""
        started = self._clock()
        try:
            writer = self._open(archive)
            events = self._outbox.pending(archive.project.id, after=archive.reported)
            if events:
                self._write(archive, writer, events)
        except (AgentMailError, OSError, ValueError, KeyError) as error:
            # The next try looks at the repository afresh.
            archive.writer = None
            self._fail(archive, error)
            return False
        self._recover(archive)
        pause = 0 if len(events) == MAX_EVENTS else self._plan.interval
        archive.due = Micros(started + pause)
        return True

    def _open(self, archive: _Archive) -> ArchiveWriter:
        """The project's writer. Opening it reports what an earlier process committed and nobody marked."""
        if archive.writer is not None and not archive.writer.is_in_place:
            archive.writer = None
        if archive.writer is None:
            writer = ArchiveWriter(
                self._plan.projects_path / archive.project.slug,
                self._plan.owner,
                Claim(highest_seq=self._outbox.highest_seq(), archived_seq=archive.reported),
                reach=self._reach,
                lock_fds=self._plan.lock_fds,
            )
            for sealed in writer.sealed_after(archive.reported):
                self._report_commit(archive, sealed, ())
            archive.writer = writer
        return archive.writer

    def _write(self, archive: _Archive, writer: ArchiveWriter, events: Sequence[OutboxEvent]) -> None:
        files = batch_files(events, self._plan.owner.store_id)
        if writer.is_empty and ARCHIVE_FILE not in files:
            files[ARCHIVE_FILE] = archive_file(project_snapshot(archive.project), self._plan.owner.store_id)
        sealed = writer.commit(files, commit_text(events), self._clock())
        self._reach(FailPoint.BEFORE_MARK)
        self._report_commit(archive, sealed, events)
        archive.commits += 1
        if archive.commits % _REPACK_EVERY == 0:
            self._repack(writer)

    def _report_commit(self, archive: _Archive, sealed: SealedCommit, events: Sequence[OutboxEvent]) -> None:
        commit = ArchiveCommit(
            project_id=archive.project.id,
            hexsha=sealed.hexsha,
            summary=sealed.subject,
            authored_ts=sealed.committed_ts,
            last_seq=sealed.last_seq,
        )
        oldest = events[0].created_ts if events else None
        self._report(Committed(project=archive.project.slug, commit=commit, events=len(events), oldest_ts=oldest))
        archive.reported = sealed.last_seq

    def _recover(self, archive: _Archive) -> None:
        if archive.failures:
            archive.failures = 0
            self._report(Recovered(project=archive.project.slug))

    def _fail(self, archive: _Archive, error: Exception) -> None:
        pause = min(_RETRY_FIRST * 2**archive.failures, _RETRY_LAST)
        archive.failures = min(archive.failures + 1, 10)
        archive.due = Micros(self._clock() + pause)
        hint = error.hint if isinstance(error, AgentMailError) else ""
        self._report(Failed(project=archive.project.slug, message=str(error) or type(error).__name__, hint=hint))

    def _tidy(self, archive: _Archive) -> float | None:
        """Refresh the index of an archive that has been quiet; seconds until it will have been."""
        if archive.writer is None or not archive.writer.needs_refresh:
            return None
        quiet = Micros(self._clock() - archive.due)
        if quiet < IDLE:
            return (IDLE - quiet) / SECOND
        self._refresh(archive)
        return None

    def _refresh(self, archive: _Archive) -> None:
        if archive.writer is None or not archive.writer.needs_refresh:
            return
        try:
            archive.writer.refresh()
        except (AgentMailError, OSError) as error:
            self._fail(archive, error)
        else:
            self._recover(archive)
            self._repack(archive.writer)

    def _repack(self, writer: ArchiveWriter) -> None:
        """One repack at a time, whatever the number of archives."""
        if self._repacking is not None and self._repacking.is_running():
            return
        self._end_repack()
        self._repacking = writer.start_repack()

    def _look_after_repack(self) -> float | None:
        """Finish one that is done; seconds until the next look at one that runs."""
        if self._repacking is None:
            return None
        if self._repacking.is_running():
            return _REPACK_LOOK_S
        self._end_repack()
        return None

    def _end_repack(self) -> None:
        if self._repacking is not None:
            repacking, self._repacking = self._repacking, None
            repacking.finish(_REPACK_ENDS_S)

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
from dataclasses import dataclass
from pathlib import Path

from mcp_agent_mail.archive.ownership import Claim, Written
from mcp_agent_mail.archive.repository import PLAIN_RUN, GitRun, SealedCommit
from mcp_agent_mail.archive.writer import ArchiveOwner, ArchiveWriter, is_unfinished
from mcp_agent_mail.core.clock import SECOND, Clock, Micros
from mcp_agent_mail.core.errors import AgentMailError, NotFound
from mcp_agent_mail.core.failpoints import FailPoint, Reach
from mcp_agent_mail.core.ids import OutboxSeq, ProjectId
from mcp_agent_mail.domain.archive_layout import (
    ARCHIVE_FILE,
    archive_file,
    batch_files,
    event_files,
    held_copies,
    is_tombstone,
    project_snapshot,
)
from mcp_agent_mail.domain.archive_leases import is_stand_in
from mcp_agent_mail.domain.blobs import blob_id
from mcp_agent_mail.domain.commit_text import commit_text
from mcp_agent_mail.domain.events import ArchiveCommit, EventKind, OutboxEvent
from mcp_agent_mail.features.archiving.adopting import up_to_adoption, write_adoption
from mcp_agent_mail.features.archiving.archives import Archive, Troubles
from mcp_agent_mail.features.archiving.care import Caretaker, Failure
from mcp_agent_mail.features.archiving.launch import MAX_TRACKED_FILES, CheckOut
from mcp_agent_mail.features.archiving.lease_snapshots import LeaseSnapshots
from mcp_agent_mail.features.archiving.places import ArchivePlaces
from mcp_agent_mail.features.archiving.reports import CheckedOut, Committed, Report
from mcp_agent_mail.features.archiving.tidying import Tidier
from mcp_agent_mail.store.outbox import MAX_EVENTS, Outbox
from mcp_agent_mail.store.projects import Projects

SETTLE = 20_000
"""Microseconds that the first event after a quiet time waits for company."""

_PAGE = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class DrainPlan:
    """Where the archives are, whose they are, and the shortest time between two commits of a project."""

    projects_path: Path
    owner: ArchiveOwner
    interval: Micros
    git_run: GitRun = PLAIN_RUN
    in_workspace: bool = False
    max_tracked_files: int = MAX_TRACKED_FILES
    database_path: Path | None = None

    @property
    def places(self) -> ArchivePlaces:
        return ArchivePlaces(projects_path=self.projects_path, in_workspace=self.in_workspace)


def what_was_written(batch: Sequence[OutboxEvent], store_id: str) -> Written:
    """Of profiles, projects, links and mail that was held at first only where they are: after a renewal of the archive
    the newest state stands for all. Of leases, and of who had got held mail by then, it tells nothing.
    """
    mutable: set[str] = set()
    later: set[str] = set()
    for event in batch:
        if event.kind in (EventKind.PROFILE, EventKind.PROJECT, EventKind.CONTACT):
            mutable.update(path for path, _ in event_files(event.kind, event.snapshot, store_id))
        elif event.kind is EventKind.MAIL and (held := held_copies(event.snapshot)):
            mutable.update(path for path, _ in event_files(event.kind, event.snapshot, store_id))
            later.update(held)
        elif event.kind is EventKind.MAIL and is_tombstone(event.snapshot):
            mutable.update(path for path, _ in event_files(event.kind, event.snapshot, store_id))
    clear = [event for event in batch if not is_stand_in(event.snapshot)]
    files = batch_files(clear, store_id)
    blobs = {
        path: None if path in mutable else blob_id(content)
        for path, content in files.items()
        if content is not None and path not in later
    }
    return Written(blobs=blobs, is_vague=len(clear) < len(batch) or bool(later))


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
        self._archives: dict[ProjectId, Archive] = {}
        self._troubles = Troubles(report, clock)
        self._care = Caretaker(max_tracked_files=plan.max_tracked_files, report=report, clock=clock)
        self._tidy = Tidier(self._care, self._troubles, clock)
        self._snapshots: LeaseSnapshots | None = None

    def keep(self, snapshots: LeaseSnapshots) -> None:
        """From now on these follow the commits."""
        self._snapshots = snapshots

    def resume(self) -> None:
        """At start: mend the archives that an earlier process left in the middle of something."""
        self._reach(FailPoint.RESUME)
        after = 0
        while page := self._projects.list_(include_archived=True, limit=_PAGE, after_id=after):
            after = page[-1].id
            for project in page:
                if self._snapshots is not None:
                    self._snapshots.resume(project)
                if is_unfinished(self._plan.projects_path / project.slug):
                    self._commit(self._archive(project.id))
        self._reach(FailPoint.RESUME)

    def step(self) -> float | None:
        """Do what is due; seconds until something will be, None when only a new event can bring work."""
        waits = [self._visit(project_id) for project_id in self._outbox.pending_projects()]
        waits += [self._tidy.step(self._archives.values()), self._care.step()]
        waits.append(None if self._snapshots is None else self._snapshots.step())
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
        if self._snapshots is not None:
            self._snapshots.finish()
        self._reach(FailPoint.DRAIN)
        self._tidy.finish(self._archives.values(), until)
        self._care.finish(until)
        self._tidy.finish(self._archives.values(), until)
        return sum(
            self._outbox.count_pending(project_id, after=self._archive(project_id).reported)
            for project_id in self._outbox.pending_projects()
        )

    def close(self) -> None:
        """Leave no Git behind: what it was at is mended and done by the next drain."""
        self._tidy.close()
        self._care.close()

    def check_out(self, request: CheckOut) -> None:
        """Bring a month back into the work tree; a report answers, from a later step or `flush`."""
        try:
            self._begin_check_out(request)
        except (AgentMailError, OSError, ValueError) as failure:
            self._report(_refusal(request, failure))

    def _begin_check_out(self, request: CheckOut) -> None:
        project = self._projects.find_by_slug(request.project)
        assert project is not None, request.project
        archive = self._archive(project.id)
        writer = self._open(archive)
        files = writer.count_month(request.month)

        def ended(failure: Failure | None) -> None:
            answer = CheckedOut(request=request.number, files=files)
            self._report(answer if failure is None else _refusal(request, failure))

        self._care.check_out(project.slug, writer, request.month, ended)

    def _visit(self, project_id: ProjectId) -> float | None:
        archive = self._archive(project_id)
        if not self._has_work(archive):
            return None
        now = self._clock()
        if wait := archive.commit.wait(now):
            return wait / SECOND
        if not archive.is_settling and now - archive.commit.due > SETTLE:
            archive.is_settling = True
            archive.commit.due = Micros(now + SETTLE)
            return SETTLE / SECOND
        archive.is_settling = False
        self._commit(archive)
        return archive.commit.wait(self._clock()) / SECOND if self._has_work(archive) else None

    def _archive(self, project_id: ProjectId) -> Archive:
        if project_id not in self._archives:
            project = self._projects.find(project_id)
            assert project is not None, project_id
            last = self._outbox.last_commit(project_id)
            reported = OutboxSeq(0) if last is None else last.last_seq
            self._archives[project_id] = Archive(project=project, reported=reported)
        return self._archives[project_id]

    def _has_work(self, archive: Archive) -> bool:
        return self._outbox.has_pending(archive.project.id, after=archive.reported)

    def _commit(self, archive: Archive) -> bool:
        """Commit the oldest batch; False when the archive cannot be written, which is reported."""
        started = self._clock()
        try:
            writer = self._open(archive)
            events = self._outbox.pending(archive.project.id, after=archive.reported)
            if events:
                events = up_to_adoption(events)
                self._write(archive, writer, events)
        except (AgentMailError, OSError, ValueError, KeyError) as error:
            # The next try looks at the repository afresh.
            self._close(archive)
            self._troubles.fail(archive, archive.commit, error)
            return False
        self._troubles.recover(archive, archive.commit)
        pause = 0 if len(events) == MAX_EVENTS else self._plan.interval
        archive.commit.due = Micros(started + pause)
        return True

    def _open(self, archive: Archive) -> ArchiveWriter:
        """The project's writer. Opening it reports what an earlier process committed and nobody marked."""
        if archive.writer is not None and not archive.writer.is_in_place:
            self._close(archive)
        if archive.writer is None:
            writer = ArchiveWriter(
                self._plan.places.prepare(archive.project, self._plan.owner.store_id),
                self._plan.owner,
                Claim(highest_seq=self._outbox.highest_seq(), archived_seq=archive.reported),
                reach=self._reach,
                git_run=self._plan.git_run,
            )
            for sealed in writer.sealed_after(archive.reported):
                self._require_same(archive, writer, sealed)
                self._report_commit(archive, sealed, ())
            archive.writer = writer
        return archive.writer

    def _close(self, archive: Archive) -> None:
        """Opening it again mends it, and nothing may run beside that."""
        self._tidy.abandon(archive)
        self._care.abandon(archive.project.slug)
        archive.writer = None

    def _require_same(self, archive: Archive, writer: ArchiveWriter, sealed: SealedCommit) -> None:
        """Numbers alone prove nothing: an old database that was put back gives them out again for other events."""
        events = self._outbox.pending(archive.project.id, after=archive.reported)
        batch = [event for event in events if event.seq <= sealed.last_seq]
        writer.require_same(sealed, what_was_written(batch, self._plan.owner.store_id))

    def _write(self, archive: Archive, writer: ArchiveWriter, events: Sequence[OutboxEvent]) -> None:
        if events[0].kind is EventKind.ADOPTION:
            sealed = self._adopt(archive, writer, events[0])
        else:
            sealed = self._commit_files(archive, writer, events)
        self._reach(FailPoint.BEFORE_MARK)
        self._report_commit(archive, sealed, events)
        self._care.note_commit(archive.project.slug, writer)
        if self._snapshots is not None:
            self._snapshots.note(archive.project, events)

    def _adopt(self, archive: Archive, writer: ArchiveWriter, event: OutboxEvent) -> SealedCommit:
        assert self._plan.database_path is not None, "a drain that can adopt knows the database"
        places = (self._plan.projects_path, self._plan.database_path)
        return write_adoption(*places, writer, archive.project, event, self._clock())

    def _commit_files(self, archive: Archive, writer: ArchiveWriter, events: Sequence[OutboxEvent]) -> SealedCommit:
        files = batch_files(events, self._plan.owner.store_id)
        if writer.is_empty and ARCHIVE_FILE not in files:
            files[ARCHIVE_FILE] = archive_file(project_snapshot(archive.project), self._plan.owner.store_id)
        return writer.commit(files, commit_text(events), self._clock())

    def _report_commit(self, archive: Archive, sealed: SealedCommit, events: Sequence[OutboxEvent]) -> None:
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


def _refusal(request: CheckOut, failure: Exception) -> CheckedOut:
    return CheckedOut(
        request=request.number,
        files=0,
        problem=str(failure) or type(failure).__name__,
        hint=failure.hint if isinstance(failure, AgentMailError) else "",
        is_unknown=isinstance(failure, NotFound),
    )

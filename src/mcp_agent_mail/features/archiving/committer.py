"""All that is done to one archive: opened and mended, committed to, tidied up, looked after.

One thread at a time works on it. Whatever hangs here hangs this archive alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from mcp_agent_mail.archive.known_version import is_outdated
from mcp_agent_mail.archive.locks import ArchiveLock
from mcp_agent_mail.archive.notes.thread_pages import are_pages_behind
from mcp_agent_mail.archive.recovery import is_unfinished
from mcp_agent_mail.archive.repository import GitRun, SealedCommit
from mcp_agent_mail.archive.writer import ArchiveWriter
from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.core.failpoints import FailPoint
from mcp_agent_mail.domain.archive_format.commit_message import commit_text
from mcp_agent_mail.domain.archive_format.layout import ARCHIVE_FILE, archive_file, batch_files, project_snapshot
from mcp_agent_mail.domain.events import ArchiveCommit, EventKind, OutboxEvent
from mcp_agent_mail.features.archiving.adopt import up_to_adoption, write_adoption
from mcp_agent_mail.features.archiving.archives import ArchiveState, FailureReporter
from mcp_agent_mail.features.archiving.batch_content import up_to_size, what_was_written
from mcp_agent_mail.features.archiving.committer_context import CommitterContext, DrainPlan
from mcp_agent_mail.features.archiving.conversion import FormatConversion
from mcp_agent_mail.features.archiving.index_refresh import IndexRefresher
from mcp_agent_mail.features.archiving.maintenance import Maintenance
from mcp_agent_mail.features.archiving.pages.rounds import PageRounds
from mcp_agent_mail.features.archiving.protocol import CheckedOut, CheckOut, Committed, place_in, refusal_of
from mcp_agent_mail.store.outbox import MAX_EVENTS


class ArchiveCommitter:
    """Opened at the first need. Closing it ends what runs; a new one mends what that left."""

    def __init__(self, shared: CommitterContext, archive: ArchiveState) -> None:
        self.archive = archive
        self._shared = shared
        self._lock: ArchiveLock | None = None
        self._is_torn = False
        self._troubles = FailureReporter(shared.report, shared.clock)
        self._care = Maintenance(
            archive.project.slug,
            max_tracked_files=shared.plan.max_tracked_files,
            report=shared.report,
            permits=shared.care,
            clock=shared.clock,
        )
        self._tidy = IndexRefresher(
            archive, self._care, self._troubles, shared.refreshes, report_commit=self._report_commit, clock=shared.clock
        )
        self._conversion = FormatConversion(
            archive,
            self._care,
            shared.conversions,
            report=shared.report,
            report_commit=self._report_commit,
            clock=shared.clock,
        )
        self._pages = PageRounds(archive, shared, self._troubles, report_commit=self._report_commit)

    @property
    def is_at_rest(self) -> bool:
        """Whether it may be forgotten: nothing fails, runs or is still to be done here."""
        archive = self.archive
        failures = archive.commit.failures + archive.index.failures + archive.work_tree.failures
        is_running = self._tidy.is_running or self._conversion.is_running
        return not (failures or self._is_torn or archive.is_mending or is_running or self._care.has_work)

    @property
    def is_whole(self) -> bool:
        """Would an end of the process leave nothing to be mended?"""
        is_converted = not (self._shared.plan.converts and self._conversion.is_wanted)
        is_whole = is_converted and not self._pages.are_due
        return self.archive.writer is None or (is_whole and not self.archive.writer.needs_refresh)

    @property
    def not_before(self) -> Micros:
        """When what failed there is tried again, were it forgotten meanwhile."""
        return max(self._conversion.not_before, self._pages.not_before)

    @property
    def is_outdated(self) -> bool:
        """Is it to be converted before long? Not while that has failed a moment ago."""
        return self._shared.plan.converts and self._conversion.is_due

    def guard(self, work: Callable[[], float | None]) -> float | None:
        """Run `work` and give what it gives. Whatever unforeseen it raises counts as a failure of this archive, which
        is opened anew; then the seconds until it is tried again.
        """
        try:
            return work()
        except Exception as error:  # noqa: BLE001  # as below
            # Else this committer would keep what it was given for good.
            self._shared.forget(self.archive.project.slug)
            self._is_torn = True
            self._fail(error)
            return self.archive.commit.wait(self._shared.clock()) / SECOND

    def look_after(self) -> float | None:
        """What is due beside commits; seconds until something will be, None when only a new commit can bring work."""
        if self._was_moved():
            # Committed to by a person, set back, or gone: opening it anew tells which.
            self._is_torn = True
        if self._is_torn:
            return self.mend()
        converting = self._conversion.step() if self._shared.plan.converts else None
        if self._shared.plan.converts and self._conversion.is_moving_files:
            return converting
        # A refresh may let months be put away, and that again asks for a refresh: each is looked at after the other.
        waits = [self._pages.step(), self._tidy.step(), self._care.step(), self._tidy.step(), converting]
        return min((wait for wait in waits if wait is not None), default=None)

    def mend(self) -> float | None:
        """Open it if an earlier process left it in the middle of something: that mends it. Its index follows."""
        path = place_in(self._shared.plan.projects_path, self.archive.project.slug)
        is_wanted = is_unfinished(path) or (self._shared.plan.converts and is_outdated(path))
        is_wanted = is_wanted or are_pages_behind(path, self.archive.reported)
        if not self._is_torn and not is_wanted:
            self._troubles.recover(self.archive, self.archive.commit)
            return None
        try:
            self._open()
        except Exception as error:  # noqa: BLE001  # a fault of ours, too, is this archive's alone
            self._is_torn = True
            self._fail(error)
            return self.archive.commit.wait(self._shared.clock()) / SECOND
        self._is_torn = False
        self.archive.is_mending = self.archive.writer is not None and self.archive.writer.needs_refresh
        wait = self.look_after()
        self._troubles.recover(self.archive, self.archive.commit)
        return wait

    def commit(self) -> float | None:
        """Commit the oldest batch, then do what is due beside; seconds until something will be, as `look_after`."""
        self._commit()
        return self.look_after()

    def commit_all(self, until: Micros) -> None:
        """Batch after batch until nothing is pending, something fails, or the time is up."""
        while self._shared.clock() < until and self._commit():
            pass

    def finish(self, tidied: Micros, until: Micros) -> None:
        """Do what is due beside commits now, until `tidied`; what somebody waits for until `until`."""
        if self._was_moved() and not self._care.is_asked:
            return  # Whoever opens it next looks what it is.
        until = until if self._care.is_asked else tidied
        self._pages.finish(tidied)
        self._tidy.finish(until)
        self._care.finish(until)
        self._tidy.finish(until)

    def close(self) -> None:
        """Leave no Git behind: what it was at is mended and done by whoever opens the archive next."""
        self._tidy.abandon("the archiver ends")
        self._care.close()
        self._conversion.abandon()
        self._let_go()

    def check_out(self, request: CheckOut) -> float | None:
        """Bring a month back into the work tree; a report answers, from a later step or `finish`."""
        try:
            self._begin_check_out(request)
        except (AgentMailError, OSError, ValueError) as failure:
            self._shared.report(refusal_of(request, failure))
        return self.look_after()

    def _begin_check_out(self, request: CheckOut) -> None:
        writer = self._open()
        files = writer.count_month(request.month)

        def ended(failure: Exception | None) -> None:
            answer = CheckedOut(request=request.number, files=files)
            self._shared.report(answer if failure is None else refusal_of(request, failure))

        self._care.check_out(writer, request.month, ended)

    def _commit(self) -> bool:
        """Commit the oldest batch; False when there is none, or it cannot be written, which is reported."""
        archive = self.archive
        archive.is_settling = False
        started = self._shared.clock()
        try:
            writer = self._open()
            pending = self._shared.pending(archive)
            if events := up_to_size(up_to_adoption(pending)):
                self._write(writer, events)
        except Exception as error:  # noqa: BLE001  # as above
            self._fail(error)
            return False
        self._is_torn = False
        self._troubles.recover(archive, archive.commit)
        has_more = len(pending) == MAX_EVENTS or len(events) < len(pending)
        pause = 0 if has_more else self._shared.plan.interval
        archive.commit.due = Micros(started + pause)
        return bool(events)

    def _fail(self, error: Exception) -> None:
        # The next try looks at the repository afresh.
        self._close_writer()
        self.archive.is_mending = False
        self._troubles.fail(self.archive, self.archive.commit, error)

    def _open(self) -> ArchiveWriter:
        """The project's writer. Opening it reports what an earlier process committed and nobody marked."""
        archive = self.archive
        if self._was_moved():
            self._close_writer()
        if archive.writer is None:
            plan = self._shared.plan
            writer = ArchiveWriter(
                plan.places.prepare(archive.project, plan.owner.store_id),
                plan.owner,
                self._shared.claim(archive),
                fault_hook=self._shared.fault_hook,
                git_run=self._take(plan),
                contents=plan.contents,
            )
            for sealed in writer.sealed_after(archive.reported):
                self._require_same(writer, sealed)
                self._report_commit(sealed)
            archive.writer = writer
            self._pages.open()
        return archive.writer

    def _was_moved(self) -> bool:
        return self.archive.writer is not None and not self.archive.writer.is_in_place

    def _take(self, plan: DrainPlan) -> GitRun:
        """The lock of this archive, which its Git processes hold too; waits for those that an earlier try left."""
        self._let_go()
        slug = self.archive.project.slug
        lock = ArchiveLock(place_in(plan.locks_path, slug), timeout_s=plan.lock_timeout_s, archive=slug)
        lock.__enter__()
        self._lock = lock
        return replace(plan.git_run, lock_fds=(lock.fd,))

    def _let_go(self) -> None:
        lock, self._lock = self._lock, None
        if lock is not None:
            lock.__exit__(None, None, None)

    def _close_writer(self) -> None:
        """Opening it again mends it, and nothing may run beside that."""
        try:
            self._tidy.abandon("the archive is opened anew")
            self._care.abandon()
            self._conversion.abandon()
        finally:
            self.archive.writer = None

    def _require_same(self, writer: ArchiveWriter, sealed: SealedCommit) -> None:
        """Numbers alone prove nothing: an old database that was put back gives them out again for other events."""
        if sealed.last_seq == self.archive.reported:
            return  # One that converts, or brings what was lacked, holds no event.
        events = self._shared.pending(self.archive)
        batch = [event for event in events if event.seq <= sealed.last_seq]
        writer.require_same(
            sealed, what_was_written(batch, self._shared.plan.owner.store_id, writer.version_of(sealed))
        )

    def _write(self, writer: ArchiveWriter, events: Sequence[OutboxEvent]) -> None:
        if events[0].kind is EventKind.ADOPTION:
            sealed = self._adopt(writer, events[0])
            self._pages.note_all_written(sealed)
        else:
            sealed = self._commit_files(writer, events)
            self._pages.note_commit(sealed)
        self._shared.fault_hook(FailPoint.BEFORE_MARK)
        self._report_commit(sealed, events)
        self._care.note_commit(writer)
        self._shared.note(self.archive.project, events)

    def _adopt(self, writer: ArchiveWriter, event: OutboxEvent) -> SealedCommit:
        plan = self._shared.plan
        assert plan.database_path is not None, "a drain that can adopt knows the database"
        places = (plan.projects_path, plan.database_path)
        return write_adoption(*places, writer, self.archive.project, event, self._shared.clock())

    def _commit_files(self, writer: ArchiveWriter, events: Sequence[OutboxEvent]) -> SealedCommit:
        store_id = self._shared.plan.owner.store_id
        files = batch_files(events, store_id, writer.version)
        if writer.is_empty and ARCHIVE_FILE not in files:
            files[ARCHIVE_FILE] = archive_file(project_snapshot(self.archive.project), store_id, writer.version)
        files.update(self._pages.along_with(events))
        return writer.commit(files, commit_text(events), self._shared.clock())

    def _report_commit(self, sealed: SealedCommit, events: Sequence[OutboxEvent] = ()) -> None:
        project = self.archive.project
        commit = ArchiveCommit(
            project_id=project.id,
            hexsha=sealed.hexsha,
            summary=sealed.subject,
            authored_ts=sealed.committed_ts,
            last_seq=sealed.last_seq,
        )
        oldest = events[0].created_ts if events else None
        # Before it is told: whoever hears of it may ask at once what is left.
        self.archive.reported = sealed.last_seq
        self._shared.report(Committed(project=project.slug, commit=commit, events=len(events), oldest_ts=oldest))

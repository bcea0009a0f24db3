"""Brings the outbox into Git: reads pending events, renders them, commits, and reports each commit.

Each project goes its own pace: the first event after a quiet time is committed almost at once, then at most one
commit per interval, so that busy projects make few, large ones. One that fails is tried again later; one that hangs
keeps a thread and nobody waiting. What an earlier process left unfinished is mended beside, newest mail first.

Nothing is asked twice: at the first event of a project its newest sealed commit says what is in Git already, marked
or not. Of the archives that have been quiet a bounded number is remembered.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import field
from functools import partial
from itertools import chain, islice
from queue import Empty, SimpleQueue

from mcp_agent_mail.archive.lock_holders import holders
from mcp_agent_mail.core.clock import SECOND, Clock, Micros
from mcp_agent_mail.core.failpoints import FailPoint, FaultHook
from mcp_agent_mail.core.ids import OutboxSeq, ProjectId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.events import OutboxEvent
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.archiving.archives import ArchiveState, hanging
from mcp_agent_mail.features.archiving.committer import ArchiveCommitter
from mcp_agent_mail.features.archiving.committer_context import CommitterContext, DrainPlan, DrainReaders
from mcp_agent_mail.features.archiving.conversion import AGAIN_AFTER
from mcp_agent_mail.features.archiving.lease_snapshots import LeaseSnapshots
from mcp_agent_mail.features.archiving.protocol import CheckOut, Committed, Recovered, Report, Workload, place_in
from mcp_agent_mail.features.archiving.threads import ArchiveJob, ArchiveThreads

SETTLE = 20_000
"""Microseconds that the first event after a quiet time waits for company."""
MOST_KEPT = 64
"""So many archives that have nothing to do are remembered, with what was learnt when they were opened."""
MENDED_AT_ONCE = 2
_LONGEST_LOOK_S = 0.25
_MENDING_PATIENCE = 5
"""So many times as long as a commit: many files may have to be compared."""
_LATER_S = 30.0
_LONG_S = 3_600.0

Work = Callable[[], float | None]


@dataclass(slots=True, kw_only=True, eq=False)
class _Kept:
    """A committer that is remembered. `wait`: seconds from `since` until something is due there beside commits."""

    committer: ArchiveCommitter
    wait: float | None = None
    since: Micros = field(default=Micros(0))
    since_s: float = 0.0
    asked: deque[CheckOut] = field(default_factory=deque)
    hangs: bool = False

    def note_wait(self, wait: float | None, now: Micros) -> None:
        self.wait, self.since, self.since_s = wait, now, time.monotonic()

    def left_s(self, now: Micros) -> float | None:
        """A clock that was set back makes it due. Git, which is looked after so often, has a clock of its own."""
        if self.wait is None:
            return None
        passed = (now - self.since) / SECOND
        if self.wait <= _LONGEST_LOOK_S:
            passed = max(passed, time.monotonic() - self.since_s)
        return 0.0 if passed < 0 else max(0.0, self.wait - passed)


class Drain:
    """Brings events into Git, a few archives side by side. For one thread, which holds the lock of the archiver."""

    def __init__(
        self,
        plan: DrainPlan,
        readers: DrainReaders,
        *,
        report: Callable[[Report], None],
        clock: Clock,
        fault_hook: FaultHook,
    ) -> None:
        self._plan = plan
        self._outbox, self._projects = readers.outbox, readers.projects
        self._report = report
        self._clock = clock
        self._fault_hook = fault_hook
        self._threads: ArchiveThreads[float | None] = ArchiveThreads()
        self._told: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._shared = CommitterContext(
            plan,
            readers.events,
            report=lambda told: self._tell(partial(self._pass_on, told)),
            note=lambda project, events: self._tell(partial(self._note, project, events)),
            clock=clock,
            fault_hook=fault_hook,
        )
        self._kept: dict[ProjectId, _Kept] = {}
        self._unfinished: dict[ProjectId, Micros] = {}
        self._last_newcomer = ProjectId(0)
        self._snapshots: LeaseSnapshots | None = None
        self._mending: set[ProjectId] = set()
        self._workload = Workload()

    def keep(self, snapshots: LeaseSnapshots) -> None:
        """Let these snapshots follow the commits from now on."""
        self._snapshots = snapshots

    def fileno(self) -> int:
        """Readable when `begin` has something to do before the time it named."""
        return self._threads.fileno()

    def resume(self) -> None:
        """At start: note whose archives an earlier process may have left in the middle of something."""
        self._fault_hook(FailPoint.RESUME)
        self._unfinished = dict.fromkeys(self._outbox.projects_by_last_commit(), Micros(0))
        if self._snapshots is not None:
            self._snapshots.resume(self._projects)
        self._fault_hook(FailPoint.RESUME)

    @property
    def unfinished(self) -> int:
        return len(self._unfinished)

    def begin(self) -> float | None:
        """Begin what is due and wait for nothing; seconds until something will be, None without any."""
        self._collect()
        waits = [self._go_on(project_id, kept) for project_id, kept in list(self._kept.items())]
        waits += [self._go_on(project_id, self._kept_for(project_id)) for project_id in self._newcomers()]
        waits.append(self._mend_next())
        self._clear()
        waits.append(None if self._snapshots is None else self._snapshots.step())
        waits.append(self._watch())
        return min((wait for wait in waits if wait is not None), default=None)

    def step(self) -> float | None:
        """As `begin`, and wait for what was begun, unless that takes long."""
        wait = self.begin()
        while self._threads.is_busy():
            self._threads.wait(_LONG_S)
            wait = self.begin()
        return wait

    def mend(self, until: Micros) -> None:
        """Step until nothing is unfinished any more, or until `until`."""
        while (self._unfinished or self._mending) and self._clock() < until:
            wait = self.step()
            self._threads.wait(_LONGEST_LOOK_S if wait is None else min(wait, _LONGEST_LOOK_S))

    def flush(self, until: Micros, *, tidy_s: float = _LONG_S) -> int:
        """Commit all that is pending, whatever the pace, then tidy up for `tidy_s` at most; stops at `until`.

        Returns how many events are still not in Git: of projects that fail or hang, or for want of time.
        What is not mended yet is left to the next start.
        """
        self._fault_hook(FailPoint.DRAIN)
        self._unfinished.clear()
        self._each(self._outbox.pending_projects(), lambda kept: partial(kept.committer.commit_all, until), until)
        if self._snapshots is not None:
            self._snapshots.finish()
        self._fault_hook(FailPoint.DRAIN)
        tidied = Micros(min(until, self._clock() + int(tidy_s * SECOND)))
        asked = [project_id for project_id, kept in self._kept.items() for _ in kept.asked]
        self._each(asked, lambda kept: partial(_check_out, kept), until)
        self._each(list(self._kept), lambda kept: partial(kept.committer.finish, tidied, until), until)
        return sum(
            self._outbox.count_pending(project_id, after=self._reported(project_id))
            for project_id in self._outbox.pending_projects()
        )

    def _each(self, project_ids: Iterable[ProjectId], work: Callable[[_Kept], Work], until: Micros) -> None:
        """Do this for each of them, several side by side; neither begin nor wait for what hangs."""
        todo = deque(project_ids)
        while self._clock() < until and (todo or self._threads.is_waited_for()):
            for _ in range(len(todo)):
                if not self._threads.has_room():
                    break
                project_id = todo.popleft()
                if self._threads.is_at_work(project_id):
                    todo.append(project_id)
                    continue
                self._clear()
                kept = self._kept_for(project_id)
                self._begin(project_id, work(kept))
            if not self._threads.is_waited_for():
                break
            self._threads.wait(min(_LONGEST_LOOK_S, max(0.0, (until - self._clock()) / SECOND)))
            self._collect()
            self._watch()

    def close(self) -> None:
        """Leave no Git behind, but of archives that hang: what it was at is mended and done by the next drain.

        Each committer is closed in a thread too: no kill ends a Git that the kernel keeps; nobody waits for that here.
        """
        self._wait_for(lambda: not self._threads.is_busy())
        for project_id, kept in self._kept.items():
            self._wait_for(self._threads.has_room)
            if not self._threads.at_last(project_id, kept.committer.close) and self._threads.has_room():
                self._begin(project_id, kept.committer.close)
        self._wait_for(lambda: not self._threads.is_busy())
        try:
            # Where a server listened it may be gone; then the next drain tells it.
            with suppress(BrokenPipeError):
                self._hear()
        finally:
            self._threads.close()

    def _wait_for(self, is_so: Callable[[], bool]) -> None:
        """In the end: until it is, or only what hangs is left."""
        while not is_so() and self._threads.is_busy():
            self._threads.wait(_LONG_S)
            self._threads.collect()
        self._threads.collect()

    def check_out(self, request: CheckOut) -> None:
        """Bring a month back into the work tree; a report answers, from a later step or `flush`."""
        project = self._projects.find_by_slug(request.project)
        assert project is not None, request.project
        self._kept_for(project.id).asked.append(request)

    def _tell(self, act: Callable[[], None]) -> None:
        self._told.put(act)
        self._threads.wake()

    def _pass_on(self, told: Report) -> None:
        if isinstance(told, Committed):
            self._threads.note_progress(told.commit.project_id)
        self._report(told)

    def _note(self, project: Project, events: Sequence[OutboxEvent]) -> None:
        if self._snapshots is not None:
            self._snapshots.note(project, events)

    def _collect(self) -> None:
        ended = self._threads.collect()
        self._hear()
        for job in ended:
            self._take_back(job)
        # No archive's failure, which its committer has told: the drain itself is at its end.
        for job in ended:
            if job.failure is not None:
                raise job.failure

    def _hear(self) -> None:
        while True:
            try:
                self._told.get_nowait()()
            except Empty:
                return

    def _take_back(self, job: ArchiveJob[float | None]) -> None:
        kept = self._kept[job.project_id]
        kept.note_wait(job.result, self._clock())
        if not (kept.committer.archive.is_mending or kept.committer.is_outdated):
            self._mending.discard(job.project_id)
        if kept.hangs:
            kept.hangs = False
            if not kept.committer.archive.commit.failures:
                self._report(Recovered(project=kept.committer.archive.project.slug))

    def _go_on(self, project_id: ProjectId, kept: _Kept) -> float | None:
        """Begin what is due of an archive that is remembered; seconds until something will be."""
        if self._threads.is_at_work(project_id):
            return None
        committer, now = kept.committer, self._clock()
        commit_s = self._commit_wait_s(committer.archive, now)
        beside_s = 0.0 if self._shared.is_turn_of(committer.archive.project.slug) or kept.asked else kept.left_s(now)
        if commit_s == 0.0:
            self._start(project_id, committer.commit)
            return None
        if beside_s == 0.0:
            work = partial(_check_out, kept) if kept.asked else committer.look_after
            self._start(project_id, work)
            return None
        return min((wait for wait in (commit_s, beside_s) if wait is not None), default=None)

    def _commit_wait_s(self, archive: ArchiveState, now: Micros) -> float | None:
        if not self._outbox.has_pending(archive.project.id, after=archive.reported):
            return None
        if wait := archive.commit.wait(now):
            return wait / SECOND
        if not archive.is_settling and now - archive.commit.due > SETTLE:
            archive.is_settling = True
            archive.commit.due = Micros(now + SETTLE)
            return SETTLE / SECOND
        return 0.0

    def _start(self, project_id: ProjectId, work: Work) -> None:
        if self._threads.has_room():
            # The next turn is another's.
            self._kept[project_id] = self._kept.pop(project_id)
            self._begin(project_id, work)

    def _begin(self, project_id: ProjectId, work: Work, patience: int = 1) -> None:
        """`patience`: so many times as much as a commit is given."""
        self._threads.begin(
            project_id,
            partial(self._kept[project_id].committer.guard, work),
            patience_s=self._plan.patience_s * patience,
            hangs_after_s=self._plan.hangs_after_s * patience,
        )

    def _newcomers(self) -> Iterator[ProjectId]:
        """Projects with pending events whose archives are not remembered, as far as more can be."""
        if not self._threads.has_room():
            return
        waiting = self._outbox.pending_projects(after=self._last_newcomer)
        for project_id in chain(waiting, self._outbox.pending_projects()):
            if project_id in self._kept:
                continue
            if not self._can_keep():
                return
            self._last_newcomer = project_id
            yield project_id

    def _can_keep(self) -> bool:
        self._clear()
        taken = sum(not kept.hangs and not kept.committer.archive.commit.failures for kept in self._kept.values())
        return taken < MOST_KEPT

    def _kept_for(self, project_id: ProjectId) -> _Kept:
        if project_id not in self._kept:
            project = self._projects.find(project_id)
            assert project is not None, project_id
            archive = ArchiveState(project=project, reported=self._reported(project_id))
            self._kept[project_id] = _Kept(committer=ArchiveCommitter(self._shared, archive))
        return self._kept[project_id]

    def _reported(self, project_id: ProjectId) -> OutboxSeq:
        if project_id in self._kept:
            return self._kept[project_id].committer.archive.reported
        last = self._outbox.last_commit(project_id)
        return OutboxSeq(0) if last is None else last.last_seq

    def _clear(self) -> None:
        """Forget archives that are quiet, the longest unseen first. One that is not whole is mended again later."""
        if len(self._kept) < MOST_KEPT:
            return
        for project_id, kept in sorted(self._kept.items(), key=lambda taken: not taken[1].committer.is_whole):
            if len(self._kept) < MOST_KEPT:
                return
            if not self._may_go(project_id, kept):
                continue
            if not kept.committer.is_whole:
                self._unfinished.setdefault(project_id, kept.committer.not_before)
            self._dismiss(project_id)

    def _may_go(self, project_id: ProjectId, kept: _Kept) -> bool:
        """Not before everything it reported is marked: who opens the archive anew asks what is."""
        is_busy = self._threads.is_at_work(project_id) or kept.asked or not kept.committer.is_at_rest
        return not is_busy and not self._outbox.has_pending(project_id)

    def _dismiss(self, project_id: ProjectId) -> None:
        self._mending.discard(project_id)
        self._kept.pop(project_id).committer.close()

    def _mend_next(self) -> float | None:
        """Of the archives that are not whole a few at a time, while nothing else needs the room; seconds until a look
        for those whose time has not come.
        """
        now = self._clock()
        due = (one for one, after in self._unfinished.items() if not now < after <= now + AGAIN_AFTER)
        for project_id in list(islice(due, MENDED_AT_ONCE)):
            if not self._threads.has_room() or len(self._mending) >= MENDED_AT_ONCE:
                break
            del self._unfinished[project_id]
            is_open = project_id in self._kept and self._kept[project_id].committer.archive.writer is not None
            if is_open or self._threads.is_at_work(project_id):
                continue
            committer = self._kept_for(project_id).committer
            self._mending.add(project_id)
            self._begin(project_id, committer.mend, _MENDING_PATIENCE)
        return _LATER_S if self._unfinished else None

    def _watch(self) -> float | None:
        """Tell of what hangs, and how much is left to mend; seconds until the next look."""
        for job in self._threads.jobs():
            kept = self._kept[job.project_id]
            if job.hangs and not kept.hangs:
                kept.hangs = True
                self._mending.discard(job.project_id)
                project = kept.committer.archive.project
                self._shared.forget(project.slug)
                self._threads.wake()  # It may be another's turn now.
                self._report(hanging(project, job.seconds, holders(place_in(self._plan.locks_path, project.slug))))
        hung = [kept.committer.archive.project.slug for kept in self._kept.values() if kept.hangs]
        now = Workload(mending=len(self._mending), unfinished=len(self._unfinished), hung=len(hung))
        if now != self._workload:
            self._workload = now
            self._report(now)
        return self._threads.next_look_s()


def _check_out(kept: _Kept) -> float | None:
    return kept.committer.check_out(kept.asked.popleft())

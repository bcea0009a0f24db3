"""Looks after archives beside the commits: joins packs, puts old months away, brings a month back.

One Git process at a time for all archives, at low priority and for a bounded time. Mail is in Git
without any of it: what fails is reported and tried again later.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import Protocol

from mcp_agent_mail.archive.months import KeptMonths, Thinning
from mcp_agent_mail.archive.writer import ArchiveWriter
from mcp_agent_mail.core.clock import SECOND, Clock, Micros
from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.features.archiving.reports import CareFailed, CareTaken, Report

JOIN_EVERY = 3_600 * SECOND
TIME_LIMIT = 600 * SECOND
_AGAIN_AFTER = 300 * SECOND
_LOOK_S = 0.25
_ENDS_WITHIN_S = 10.0
"""What a stop waits for what the next start would begin again."""
_WORTH_A_BEGIN_S = 5.0

Failure = AgentMailError | OSError
Ended = Callable[[Failure | None], None]


class Job(Protocol):
    """A Git process beside the commits; `what` completes "cannot …". `finish` raises GitFailed."""

    what: str

    def is_running(self) -> bool: ...

    def finish(self, timeout_s: float) -> None: ...


@dataclass(slots=True, kw_only=True)
class _Patient:
    """One archive. `wanted`: the months its work tree is to show, `waiting`: who wants to know when it does.

    `is_fresh`: its index was refreshed since that was asked for.
    """

    slug: str
    writer: ArchiveWriter
    joined_at: Micros
    has_new_packs: bool = True
    not_before: Micros = field(default=Micros(0))
    wanted: KeptMonths | None = None
    waiting: list[Ended] = field(default_factory=list)
    is_fresh: bool = False

    @property
    def waits_for_refresh(self) -> bool:
        return self.wanted is not None and self.writer.needs_refresh and not self.is_fresh

    @property
    def can_change_months(self) -> bool:
        return self.wanted is not None and not self.waits_for_refresh and not self.writer.is_refreshing


@dataclass(frozen=True, slots=True, kw_only=True)
class _Running:
    patient: _Patient
    job: Job
    began: Micros


class Caretaker:
    """`step` begins and ends what is due and never waits; `finish` does."""

    def __init__(self, *, max_tracked_files: int, report: Callable[[Report], None], clock: Clock) -> None:
        self._max_files = max_tracked_files
        self._report = report
        self._clock = clock
        self._patients: dict[str, _Patient] = {}
        self._running: _Running | None = None

    def is_changing(self, slug: str) -> bool:
        """Is Git at work on the index and the files of this archive? No refresh may run beside it."""
        running = self._running
        return running is not None and running.patient.slug == slug and isinstance(running.job, Thinning)

    def note_commit(self, slug: str, writer: ArchiveWriter) -> None:
        self._patient(slug, writer).has_new_packs = True

    def waits_for_refresh(self, slug: str) -> bool:
        """Months are put away or brought back once the index is at the branch, however busy the archive is."""
        patient = self._patients.get(slug)
        return patient is not None and patient.waits_for_refresh and self._clock() >= patient.not_before

    def note_refresh(self, slug: str, writer: ArchiveWriter) -> None:
        """The index is at the branch: say how large the archive is, and see whether months have to be put away."""
        patient = self._patient(slug, writer)
        patient.is_fresh = True
        if not patient.waiting:
            patient.wanted = writer.months_to_show(self._clock(), self._max_files)
        self._report(CareTaken(project=slug, **asdict(writer.figures())))

    def note_no_refresh(self, slug: str, failure: Failure) -> None:
        """It failed: whoever waits for a month is told why, and may ask again."""
        patient = self._patients.get(slug)
        if patient is not None and patient.waiting and patient.waits_for_refresh:
            self._fail(patient, Thinning.what, failure)

    def abandon(self, slug: str) -> None:
        """The archive is opened anew: end what changes its files. It is begun again later."""
        if self.is_changing(slug):
            self._end(0.0)

    def check_out(self, slug: str, writer: ArchiveWriter, month: str, ended: Ended) -> None:
        """Let the work tree show a month, and `ended` know when it does, or why it cannot."""
        patient = self._patient(slug, writer)
        wanted = writer.months_to_show(self._clock(), self._max_files, extra=month)
        if wanted is None:
            ended(None)
            return
        if patient.waiting and patient.wanted is not None:
            wanted = patient.wanted.with_extra(month)
        patient.wanted = wanted
        patient.is_fresh = False
        patient.not_before = Micros(0)
        patient.waiting.append(ended)

    def step(self) -> float | None:
        """Seconds until the next one, None when only a new commit can bring work."""
        if self._running is not None:
            if self._running.job.is_running() and self._clock() - self._running.began < TIME_LIMIT:
                return _LOOK_S
            self._end(0.0)
        for patient in self._patients.values():
            if self._begin(patient):
                return _LOOK_S
        waits = [self._wait(patient) for patient in self._patients.values()]
        return min((wait for wait in waits if wait is not None), default=None)

    def finish(self, until: Micros) -> None:
        """End what runs, and do what somebody waits for or what is overdue, for so long."""
        if self._running is not None:
            self._end(self._time_for(self._running.patient, until))
        for patient in self._patients.values():
            left_s = self._time_for(patient, until)
            is_wanted = patient.wanted is not None and (patient.waiting or left_s >= _WORTH_A_BEGIN_S)
            if (is_wanted or patient.writer.has_many_packs) and self._begin(patient):
                self._end(left_s)

    def close(self) -> None:
        """End what runs; the next start begins it again."""
        running, self._running = self._running, None
        if running is not None:
            with suppress(AgentMailError, OSError):
                running.job.finish(0.0)

    def _time_for(self, patient: _Patient, until: Micros) -> float:
        left_s = max(0.0, (until - self._clock()) / SECOND)
        return left_s if patient.waiting else min(left_s, _ENDS_WITHIN_S)

    def _patient(self, slug: str, writer: ArchiveWriter) -> _Patient:
        if slug not in self._patients:
            self._patients[slug] = _Patient(slug=slug, writer=writer, joined_at=self._clock())
        patient = self._patients[slug]
        patient.writer = writer
        return patient

    def _wait(self, patient: _Patient) -> float | None:
        if patient.can_change_months or patient.writer.has_many_packs:
            due: int = patient.not_before
        elif patient.has_new_packs:
            due = max(patient.not_before, patient.joined_at + JOIN_EVERY)
        else:
            return None
        return max(0.0, (due - self._clock()) / SECOND)

    def _begin(self, patient: _Patient) -> bool:
        now = self._clock()
        # A wall clock that was set back must not put care off for as long.
        patient.joined_at = min(patient.joined_at, now)
        patient.not_before = min(patient.not_before, Micros(now + _AGAIN_AFTER))
        if now < patient.not_before:
            return False
        try:
            job = self._next_job(patient)
        except (AgentMailError, OSError) as failure:
            self._fail(patient, "look after it", failure)
            return False
        if job is not None:
            self._running = _Running(patient=patient, job=job, began=self._clock())
        return job is not None

    def _next_job(self, patient: _Patient) -> Job | None:
        writer = patient.writer
        if patient.wanted is not None and patient.can_change_months:
            patient.is_fresh = False
            return writer.start_thinning(patient.wanted)
        if not self._is_due_to_join(patient):
            return None
        patient.joined_at = self._clock()
        patient.has_new_packs = False
        job = writer.start_repack(even_if_few=True)
        if job is None and writer.has_many_packs:
            # Somebody keeps them apart (`.keep`): asking at every step would not change it.
            patient.not_before = Micros(self._clock() + _AGAIN_AFTER)
        return job

    def _is_due_to_join(self, patient: _Patient) -> bool:
        is_time = self._clock() - patient.joined_at >= JOIN_EVERY
        return patient.writer.has_many_packs or (is_time and patient.has_new_packs)

    def _end(self, timeout_s: float) -> None:
        assert self._running is not None
        running, self._running = self._running, None
        patient = running.patient
        failure: Failure | None = None
        try:
            running.job.finish(timeout_s)
        except (AgentMailError, OSError) as failed:
            failure = failed
        if isinstance(running.job, Thinning):
            patient.writer.end_thinning(is_done=failure is None)
            patient.wanted = None
        if failure is None:
            self._answer(patient, None)
            self._report(CareTaken(project=patient.slug, **asdict(patient.writer.figures())))
        else:
            self._fail(patient, running.job.what, failure)

    def _fail(self, patient: _Patient, what: str, failure: Failure) -> None:
        patient.not_before = Micros(self._clock() + _AGAIN_AFTER)
        patient.has_new_packs = True
        self._answer(patient, failure)
        self._report(CareFailed(project=patient.slug, message=f"cannot {what}: {failure}"))

    def _answer(self, patient: _Patient, failure: Failure | None) -> None:
        waiting, patient.waiting = patient.waiting, []
        for ended in waiting:
            ended(failure)

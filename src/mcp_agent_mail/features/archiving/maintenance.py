"""Looks after archives beside the commits: joins packs, puts old months away, brings a month back.

One Git process at a time for all archives, at low priority and for a bounded time. Mail is in Git
without any of it: what fails is reported and tried again later.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from typing import Protocol

from mcp_agent_mail.archive.months import KeptMonths, Thinning
from mcp_agent_mail.archive.writer import ArchiveWriter
from mcp_agent_mail.core.clock import SECOND, Clock, Micros
from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.features.archiving.archives import log_unforeseen, message_of
from mcp_agent_mail.features.archiving.protocol import CareFailed, CareTaken, Report
from mcp_agent_mail.features.archiving.threads import Permits

JOIN_EVERY = 3_600 * SECOND
TIME_LIMIT = 600 * SECOND
_AGAIN_AFTER = 300 * SECOND
_LOOK_S = 0.25
_ENDS_WITHIN_S = 10.0
"""What a stop waits for what the next start would begin again."""
_WORTH_A_BEGIN_S = 5.0

Ended = Callable[[Exception | None], None]


class MaintenanceJob(Protocol):
    """A Git process beside the commits; `what` completes "cannot …". `finish` raises GitFailed."""

    what: str

    def is_running(self) -> bool: ...

    def finish(self, timeout_s: float) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class _Running:
    job: MaintenanceJob
    began: Micros


class Maintenance:
    """Of one archive. `step` begins and ends what is due and never waits; `finish` does.

    `_wanted`: the months its work tree is to show, `_waiting`: who wants to know when it does. `_is_fresh`: its index
    was refreshed since that was asked for.
    """

    def __init__(
        self, slug: str, *, max_tracked_files: int, report: Callable[[Report], None], permits: Permits, clock: Clock
    ) -> None:
        self._slug = slug
        self._max_files = max_tracked_files
        self._report = report
        self._permits = permits
        self._clock = clock
        self._writer: ArchiveWriter | None = None
        self._running: _Running | None = None
        self._joined_at = clock()
        self._has_new_packs = True
        self._not_before = Micros(0)
        self._wanted: KeptMonths | None = None
        self._waiting: list[Ended] = []
        self._is_fresh = False

    @property
    def is_changing(self) -> bool:
        """Is Git at work on the index and the files? No refresh may run beside it."""
        return self._running is not None and isinstance(self._running.job, Thinning)

    @property
    def has_work(self) -> bool:
        """More than what can be done when the archive is written the next time."""
        return self._running is not None or self._wanted is not None

    @property
    def is_asked(self) -> bool:
        """Does somebody wait for a month?"""
        return bool(self._waiting)

    def note_commit(self, writer: ArchiveWriter) -> None:
        self._writer = writer
        self._has_new_packs = True

    def waits_for_refresh(self) -> bool:
        """Months are put away or brought back once the index is at the branch, however busy the archive is."""
        return self._needs_refresh and self._clock() >= self._not_before

    def note_refresh(self, writer: ArchiveWriter) -> None:
        """The index is at the branch: say how large the archive is, and see whether months have to be put away."""
        self._writer = writer
        self._is_fresh = True
        if not self._waiting:
            self._wanted = writer.months_to_show(self._clock(), self._max_files)
        self._report(CareTaken(project=self._slug, **asdict(writer.figures())))

    def note_no_refresh(self, failure: Exception) -> None:
        """The refresh failed: whoever waits for a month is told why, and may ask again."""
        if self._waiting and self._needs_refresh:
            self._fail(Thinning.what, failure)

    def abandon(self) -> None:
        """The writer is given up: end what runs with it. It is begun again later, with the next one."""
        if self.is_changing:
            self._end(0.0)
        self.close()
        self._has_new_packs = True
        self._writer = None

    def check_out(self, writer: ArchiveWriter, month: str, ended: Ended) -> None:
        """Let the work tree show a month, and `ended` know when it does, or why it cannot."""
        self._writer = writer
        wanted = writer.months_to_show(self._clock(), self._max_files, extra=month)
        if wanted is None:
            ended(None)
            return
        if self._waiting and self._wanted is not None:
            wanted = self._wanted.with_extra(month)
        self._wanted = wanted
        self._is_fresh = False
        self._not_before = Micros(0)
        self._waiting.append(ended)

    def step(self) -> float | None:
        """Seconds until the next one, None when only a new commit can bring work."""
        if self._running is not None:
            if self._running.job.is_running() and self._clock() - self._running.began < TIME_LIMIT:
                return _LOOK_S
            self._end(0.0)
        if self._writer is None:
            return None
        return _LOOK_S if self._begin(self._writer) else self._wait(self._writer)

    def finish(self, until: Micros) -> None:
        """End what runs, and do what somebody waits for or what is overdue, for so long."""
        if self._running is not None:
            self._end(self._time_for(until))
        writer, left_s = self._writer, self._time_for(until)
        is_wanted = self._wanted is not None and (self._waiting or left_s >= _WORTH_A_BEGIN_S)
        if writer is not None and (is_wanted or writer.has_many_packs) and self._begin(writer, in_turn=False):
            self._end(left_s)

    def close(self) -> None:
        """End what runs; the next start begins it again."""
        running, self._running = self._running, None
        self._permits.give_back(self._slug)
        if running is not None:
            with suppress(AgentMailError, OSError):
                running.job.finish(0.0)

    @property
    def _needs_refresh(self) -> bool:
        writer = self._writer
        return self._wanted is not None and writer is not None and writer.needs_refresh and not self._is_fresh

    def _can_change_months(self, writer: ArchiveWriter) -> bool:
        return self._wanted is not None and not self._needs_refresh and not writer.is_refreshing

    def _time_for(self, until: Micros) -> float:
        left_s = max(0.0, (until - self._clock()) / SECOND)
        return left_s if self._waiting else min(left_s, _ENDS_WITHIN_S)

    def _wait(self, writer: ArchiveWriter) -> float | None:
        if self._permits.is_waiting(self._slug):
            return None
        if self._can_change_months(writer) or writer.has_many_packs:
            due: int = self._not_before
        elif self._has_new_packs:
            due = max(self._not_before, self._joined_at + JOIN_EVERY)
        else:
            return None
        return max(0.0, (due - self._clock()) / SECOND)

    def _begin(self, writer: ArchiveWriter, *, in_turn: bool = True) -> bool:
        now = self._clock()
        # A wall clock that was set back must not put care off for as long.
        self._joined_at = min(self._joined_at, now)
        self._not_before = min(self._not_before, Micros(now + _AGAIN_AFTER))
        is_due = (self._wanted is not None and self._can_change_months(writer)) or self._is_due_to_join(writer)
        if now < self._not_before or not is_due:
            self._permits.give_back(self._slug)
            return False
        if in_turn and not self._permits.take(self._slug):
            return False
        try:
            job = self._next_job(writer)
        except Exception as failure:  # noqa: BLE001  # a fault of ours, too, is this archive's alone
            self._permits.give_back(self._slug)
            self._fail("look after it", failure)
            return False
        if job is None:
            self._permits.give_back(self._slug)
            return False
        self._running = _Running(job=job, began=self._clock())
        return True

    def _next_job(self, writer: ArchiveWriter) -> MaintenanceJob | None:
        if self._wanted is not None and self._can_change_months(writer):
            self._is_fresh = False
            return writer.start_thinning(self._wanted)
        self._joined_at = self._clock()
        self._has_new_packs = False
        job = writer.start_repack(even_if_few=True)
        if job is None and writer.has_many_packs:
            # Somebody keeps them apart (`.keep`): asking at every step would not change it.
            self._not_before = Micros(self._clock() + _AGAIN_AFTER)
        return job

    def _is_due_to_join(self, writer: ArchiveWriter) -> bool:
        is_time = self._clock() - self._joined_at >= JOIN_EVERY
        return writer.has_many_packs or (is_time and self._has_new_packs)

    def _end(self, timeout_s: float) -> None:
        assert self._running is not None
        assert self._writer is not None
        running, self._running = self._running, None
        self._permits.give_back(self._slug)
        failure: Exception | None = None
        try:
            running.job.finish(timeout_s)
        except Exception as failed:  # noqa: BLE001  # as above
            failure = failed
        if isinstance(running.job, Thinning):
            self._writer.end_thinning(is_done=failure is None)
            self._wanted = None
        if failure is None:
            self._answer(None)
            self._report(CareTaken(project=self._slug, **asdict(self._writer.figures())))
        else:
            self._fail(running.job.what, failure)

    def _fail(self, what: str, failure: Exception) -> None:
        log_unforeseen(self._slug, failure)
        self._not_before = Micros(self._clock() + _AGAIN_AFTER)
        self._has_new_packs = True
        self._answer(failure)
        self._report(CareFailed(project=self._slug, message=f"cannot {what}: {message_of(failure)}"))

    def _answer(self, failure: Exception | None) -> None:
        waiting, self._waiting = self._waiting, []
        for ended in waiting:
            ended(failure)

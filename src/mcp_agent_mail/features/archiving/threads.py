"""Threads that are at work on archives: one at a time on each, a few archives side by side.

A thread cannot be ended, so nobody waits for one for ever: what takes longer than the patience it was begun with is
set aside. Its place goes to the next archive, its own archive stays its own until it comes back. So many may be set
aside at once; beyond that they keep their places, and when those are all taken nothing more is begun until one of
them comes back: then it is not one archive that is sick but the disk of all of them.
"""

from __future__ import annotations

import os
import select
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import field
from typing import Generic, TypeVar

from mcp_agent_mail.core.errors import Busy
from mcp_agent_mail.core.ids import ProjectId
from mcp_agent_mail.core.lazy.dataclass import dataclass

MOST_AT_ONCE = 4
MOST_SET_ASIDE = 64
PATIENCE_S = 1.0
HANGS_AFTER_S = 5.0

T = TypeVar("T")


class NoThread(Busy):
    """The system is out of threads."""


@dataclass(slots=True, kw_only=True, eq=False)
class ArchiveJob(Generic[T]):
    """Work on one archive. `failure` is what it ended of, if it was not meant to; `at_last` is done by its thread once
    the work has ended.

    After `patience_s` it is set aside, after `hangs_after_s` it counts as hanging.
    """

    project_id: ProjectId
    patience_s: float
    hangs_after_s: float
    began: float = field(default_factory=time.monotonic)
    result: T | None = None
    failure: BaseException | None = None
    at_last: Callable[[], object] | None = None

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.began

    @property
    def is_slow(self) -> bool:
        return self.seconds >= self.patience_s

    @property
    def hangs(self) -> bool:
        return self.seconds >= self.hangs_after_s

    def next_look_s(self) -> float | None:
        """Seconds until it is to be set aside or counts as hanging; None when it hangs already."""
        left = [limit_s - self.seconds for limit_s in (self.patience_s, self.hangs_after_s)]
        return min((left_s for left_s in left if left_s > 0), default=None)


class ArchiveThreads(Generic[T]):
    """Runs at most one job on each archive, in threads. `begin` and `collect` are for one thread; any may
    call `wake`.
    """

    def __init__(self) -> None:
        self._at_work: dict[ProjectId, ArchiveJob[T]] = {}
        self._ended: list[ArchiveJob[T]] = []
        self._lock = threading.Lock()
        self._woken, waker = os.pipe()
        os.set_blocking(self._woken, False)
        os.set_blocking(waker, False)
        self._waker: int | None = waker

    def fileno(self) -> int:
        """Readable once something has ended, or `wake` was called, since the last `collect`."""
        return self._woken

    def is_at_work(self, project_id: ProjectId) -> bool:
        return project_id in self._at_work

    def jobs(self) -> list[ArchiveJob[T]]:
        return list(self._at_work.values())

    def has_room(self) -> bool:
        slow = sum(job.is_slow for job in self._at_work.values())
        return len(self._at_work) - min(slow, MOST_SET_ASIDE) < MOST_AT_ONCE

    def begin(
        self,
        project_id: ProjectId,
        work: Callable[[], T],
        *,
        patience_s: float = PATIENCE_S,
        hangs_after_s: float = HANGS_AFTER_S,
    ) -> None:
        """Run `work` for the archive in a thread of its own, which the end of the process does not wait for. Raises
        NoThread.
        """
        assert project_id not in self._at_work, project_id
        job: ArchiveJob[T] = ArchiveJob(project_id=project_id, patience_s=patience_s, hangs_after_s=hangs_after_s)
        try:
            threading.Thread(target=self._run, args=(job, work), name="archive", daemon=True).start()
        except RuntimeError as refused:
            raise NoThread("The system lets no more threads begin, so no archive can be worked on.") from refused
        # Booked when it works: what has never begun would never end. `collect` is called by the same thread as this.
        self._at_work[project_id] = job

    def _run(self, job: ArchiveJob[T], work: Callable[[], T]) -> None:
        try:
            job.result = work()
        except BaseException as failure:  # noqa: BLE001  # whoever collects it raises it
            job.failure = failure
        with self._lock:
            self._ended.append(job)
        if job.at_last is not None:
            job.at_last()
        self.wake()

    def at_last(self, project_id: ProjectId, act: Callable[[], object]) -> bool:
        """Let the thread that is at work there do this too when it has ended, however late that is; False where
        none is.
        """
        with self._lock:
            job = self._at_work.get(project_id)
            if job is None or job in self._ended:
                return False
            job.at_last = act
            return True

    def note_progress(self, project_id: ProjectId) -> None:
        """What is at work there has done a part of it: its time begins anew."""
        job = self._at_work.get(project_id)
        if job is not None:
            job.began = time.monotonic()

    def wake(self) -> None:
        """Let `wait` return: by any thread, as often as it likes, also after `close`."""
        with self._lock, suppress(BlockingIOError):
            # Once closed, the number may be another file's.
            if self._waker is not None:
                os.write(self._waker, b".")

    def collect(self) -> list[ArchiveJob[T]]:
        """The jobs that have ended since the last call, in the order of their ends."""
        with suppress(BlockingIOError):
            os.read(self._woken, 65_536)
        with self._lock:
            ended, self._ended = self._ended, []
        for job in ended:
            del self._at_work[job.project_id]
        return ended

    def is_busy(self) -> bool:
        """Is anything at work that was not set aside?"""
        return any(not job.is_slow for job in self._at_work.values())

    def is_waited_for(self) -> bool:
        """Is anything at work that does not hang?"""
        return any(not job.hangs for job in self._at_work.values())

    def next_look_s(self) -> float | None:
        """Seconds until something that is at work is to be set aside, or counts as hanging; None when nothing will."""
        looks = [job.next_look_s() for job in self._at_work.values()]
        return min((look for look in looks if look is not None), default=None)

    def wait(self, timeout_s: float) -> None:
        """Wait until a job has ended, or is to be set aside or counted as hanging, or `timeout_s` seconds
        have passed.
        """
        look_s = self.next_look_s()
        select.select([self._woken], [], [], max(0.0, timeout_s if look_s is None else min(timeout_s, look_s)))

    def close(self) -> None:
        """Close what wakes `wait`. Threads that hang stay, and wake nobody any more."""
        with self._lock:
            assert self._waker is not None
            os.close(self._woken)
            os.close(self._waker)
            self._waker = None


class Permits:
    """So many archives at once may do something costly; who comes later waits for its turn."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._holders: set[str] = set()
        self._waiting: dict[str, None] = {}
        self._lock = threading.Lock()

    def take(self, slug: str) -> bool:
        """Whether the archive may go on now; otherwise it has a place in the line."""
        with self._lock:
            self._waiting.setdefault(slug)
            if slug in self._holders or self._is_turn_of(slug):
                self._waiting.pop(slug)
                self._holders.add(slug)
                return True
            return False

    def is_waiting(self, slug: str) -> bool:
        with self._lock:
            return slug in self._waiting

    def is_turn_of(self, slug: str) -> bool:
        """Whether the archive waits and could have a permit now."""
        with self._lock:
            return slug in self._waiting and self._is_turn_of(slug)

    def _is_turn_of(self, slug: str) -> bool:
        free = self._most - len(self._holders)
        return any(slug == waiting for waiting, _ in zip(self._waiting, range(free), strict=False))

    def give_back(self, slug: str) -> None:
        """Give up the archive's permit, or its place in the line. Safe to repeat."""
        with self._lock:
            self._holders.discard(slug)
            self._waiting.pop(slug, None)

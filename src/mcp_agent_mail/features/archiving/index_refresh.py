"""What commits do not wait for: files that something stood in the way of, contents that could not be had, Git's index.

The index is refreshed beside commits, of a few archives at a time: a Git that hangs in one of them
holds up neither its commits nor the others.
"""

from __future__ import annotations

from collections.abc import Callable

from mcp_agent_mail.archive.repository import SealedCommit
from mcp_agent_mail.archive.steps import InSteps
from mcp_agent_mail.core.clock import SECOND, Clock, Micros
from mcp_agent_mail.features.archiving.archives import LAST, ArchiveState, FailureReporter, Retry
from mcp_agent_mail.features.archiving.maintenance import Maintenance
from mcp_agent_mail.features.archiving.threads import Permits

IDLE = 2 * SECOND
MOST_AT_ONCE = 2
LOOK_S = 0.05
"""So often a refresh that runs is looked after."""
_PERMIT_LASTS = 30 * SECOND
"""What takes longer goes on without its permit: it may hang, and its time limit is minutes."""


class IndexRefresher:
    """Of one archive. Commits go on, whatever fails here. `step` never waits for Git; `finish` does."""

    def __init__(
        self,
        archive: ArchiveState,
        care: Maintenance,
        troubles: FailureReporter,
        permits: Permits,
        *,
        report_commit: Callable[[SealedCommit], None],
        clock: Clock,
    ) -> None:
        self._archive = archive
        self._report_commit = report_commit
        self._care = care
        self._troubles = troubles
        self._permits = permits
        self._clock = clock
        self._running: InSteps | None = None
        self._began = Micros(0)

    @property
    def is_running(self) -> bool:
        return self._running is not None

    def step(self) -> float | None:
        """Do what is due; seconds until something will be, None when only a new commit can bring work."""
        if self._running is not None and not self._running.is_running():
            self._end(self._running, 0.0)
        if self._running is not None and self._clock() - self._began >= _PERMIT_LASTS:
            self._permits.give_back(self._slug)
        waits = [self._visit(), LOOK_S if self._running is not None else None]
        return min((wait for wait in waits if wait is not None), default=None)

    def finish(self, until: Micros) -> None:
        """Do all of it now, for so long; what runs then is ended, and the next start does it again."""
        if self._clock() < until:
            self._write_blocked()
            self._bring_lacked()
            self._begin_refresh()
        if self._running is not None:
            self._end(self._running, max(0.0, (until - self._clock()) / SECOND))

    def abandon(self, why: str) -> None:
        """The writer is given up: end what runs with it."""
        running, self._running = self._running, None
        self._permits.give_back(self._slug)
        if running is not None:
            running.kill(why)

    @property
    def _slug(self) -> str:
        return self._archive.project.slug

    def _visit(self) -> float | None:
        archive = self._archive
        waits: list[float | None] = []
        if _has_blocked(archive):
            waits.append(self._try_when_due(archive.work_tree, self._write_blocked))
        if _lacks_contents(archive):
            waits.append(self._try_when_due(archive.attachments, self._bring_lacked))
        waits.append(self._refresh_in_turn())
        return min((wait for wait in waits if wait is not None), default=None)

    def _refresh_in_turn(self) -> float | None:
        """Whoever cannot go on just now stands in nobody's way."""
        archive = self._archive
        if self._running is not None:
            return None
        if not self._can_refresh():
            self._permits.give_back(self._slug)
            return None
        quiet = Micros(self._clock() - archive.commit.due)
        is_wanted = archive.is_mending or self._care.waits_for_refresh()
        if not is_wanted and 0 <= quiet + LAST < IDLE + LAST:
            self._permits.give_back(self._slug)
            return (IDLE - quiet) / SECOND
        if pause := archive.index.wait(self._clock()):
            self._permits.give_back(self._slug)
            return pause / SECOND
        return self._try_when_due(archive.index, self._begin_refresh) if self._permits.take(self._slug) else None

    def _try_when_due(self, retry: Retry, act: Callable[[], None]) -> float | None:
        """Seconds until the next try, None once it has succeeded, or runs."""
        if not retry.wait(self._clock()):
            act()
        return retry.wait(self._clock()) / SECOND or None if retry.failures else None

    def _write_blocked(self) -> None:
        archive = self._archive
        if archive.writer is None or not _has_blocked(archive):
            return
        try:
            archive.writer.write_blocked()
        except Exception as error:  # noqa: BLE001  # a fault of ours, too, is this archive's alone
            self._troubles.fail(archive, archive.work_tree, error)
        else:
            self._troubles.recover(archive, archive.work_tree)

    def _bring_lacked(self) -> None:
        archive = self._archive
        if archive.writer is None or not _lacks_contents(archive):
            return
        try:
            sealed = archive.writer.bring_lacked(archive.reported, self._clock())
            if sealed is not None:
                self._report_commit(sealed)
            archive.writer.lacked.require_none()
        except Exception as error:  # noqa: BLE001  # a fault of ours, too, is this archive's alone
            self._troubles.fail(archive, archive.attachments, error)
        else:
            self._troubles.recover(archive, archive.attachments)

    def _can_refresh(self) -> bool:
        """Not while Git is at work on the files: it holds the index."""
        writer = self._archive.writer
        needs_it = writer is not None and writer.needs_refresh
        return needs_it and self._running is None and not self._care.is_changing

    def _begin_refresh(self) -> None:
        if self._archive.writer is None or not self._can_refresh():
            return
        try:
            self._running = self._archive.writer.start_refresh()
            self._began = self._clock()
        except Exception as error:  # noqa: BLE001  # a fault of ours, too, is this archive's alone
            self._fail(error)

    def _end(self, running: InSteps, timeout_s: float) -> None:
        self._running = None
        self._permits.give_back(self._slug)
        try:
            running.finish(timeout_s)
            assert self._archive.writer is not None
            self._care.note_refresh(self._archive.writer)
        except Exception as error:  # noqa: BLE001  # a fault of ours, too, is this archive's alone
            self._fail(error)
        else:
            self._archive.is_mending = False
            self._troubles.recover(self._archive, self._archive.index)

    def _fail(self, error: Exception) -> None:
        self._archive.is_mending = False
        self._permits.give_back(self._slug)
        self._troubles.fail(self._archive, self._archive.index, error)
        self._care.note_no_refresh(error)


def _has_blocked(archive: ArchiveState) -> bool:
    """Also once more after they were reported: opening the archive anew may have written them."""
    return archive.writer is not None and (archive.writer.has_blocked or archive.work_tree.failures > 0)


def _lacks_contents(archive: ArchiveState) -> bool:
    """Likewise: a commit may have brought them."""
    return archive.writer is not None and (bool(archive.writer.lacked) or archive.attachments.failures > 0)

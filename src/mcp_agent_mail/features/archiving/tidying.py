"""What can wait until an archive is quiet: files that something stood in the way of, and Git's index.

The index is refreshed beside commits, of a few archives at a time: a Git that hangs in one of them
holds up neither its commits nor the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from mcp_agent_mail.archive.steps import InSteps
from mcp_agent_mail.archive.writer import ArchiveWriter
from mcp_agent_mail.core.clock import SECOND, Clock, Micros
from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.features.archiving.archives import Archive, Troubles
from mcp_agent_mail.features.archiving.care import Caretaker
from mcp_agent_mail.features.archiving.retries import LAST, Retry

IDLE = 2 * SECOND
MOST_AT_ONCE = 2
LOOK_S = 0.05
"""So often a refresh that runs is looked after."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Running:
    archive: Archive
    writer: ArchiveWriter
    work: InSteps


class Tidier:
    """Commits go on, whatever fails here. `step` never waits; `finish` does."""

    def __init__(self, care: Caretaker, troubles: Troubles, clock: Clock) -> None:
        self._care = care
        self._troubles = troubles
        self._clock = clock
        self._running: dict[str, _Running] = {}

    def step(self, archives: Iterable[Archive]) -> float | None:
        """Do what is due; seconds until something will be, None when only a new commit can bring work."""
        for running in list(self._running.values()):
            if not running.work.is_running():
                self._end(running, 0.0)
        waits = [self._visit(archive) for archive in archives]
        waits.append(LOOK_S if self._running else None)
        return min((wait for wait in waits if wait is not None), default=None)

    def finish(self, archives: Iterable[Archive], until: Micros) -> None:
        """Do all of it now, for so long; what runs then is ended, and the next start does it again."""
        for archive in archives:
            if self._clock() < until:
                self._write_blocked(archive)
                self._begin_refresh(archive)
            running = self._running.get(archive.project.slug)
            if running is not None:
                self._end(running, max(0.0, (until - self._clock()) / SECOND))

    def abandon(self, archive: Archive) -> None:
        """Its writer is given up: end what runs with it."""
        running = self._running.pop(archive.project.slug, None)
        if running is not None:
            running.work.kill("the archive is opened anew")

    def close(self) -> None:
        for running in self._running.values():
            running.work.kill("the archiver ends")
        self._running.clear()

    def _visit(self, archive: Archive) -> float | None:
        waits = []
        if _has_blocked(archive):
            waits.append(self._try_when_due(archive, archive.work_tree, self._write_blocked))
        if self._can_refresh(archive):
            quiet = Micros(self._clock() - archive.commit.due)
            is_wanted = self._care.waits_for_refresh(archive.project.slug)
            if not is_wanted and 0 <= quiet + LAST < IDLE + LAST:
                waits.append((IDLE - quiet) / SECOND)
            elif len(self._running) < MOST_AT_ONCE:
                waits.append(self._try_when_due(archive, archive.index, self._begin_refresh))
        return min((wait for wait in waits if wait is not None), default=None)

    def _try_when_due(self, archive: Archive, retry: Retry, act: Callable[[Archive], None]) -> float | None:
        """Seconds until the next try, None once it has succeeded, or runs."""
        if not retry.wait(self._clock()):
            act(archive)
        return retry.wait(self._clock()) / SECOND or None if retry.failures else None

    def _write_blocked(self, archive: Archive) -> None:
        if archive.writer is None or not _has_blocked(archive):
            return
        try:
            archive.writer.write_blocked()
        except (AgentMailError, OSError) as error:
            self._troubles.fail(archive, archive.work_tree, error)
        else:
            self._troubles.recover(archive, archive.work_tree)

    def _can_refresh(self, archive: Archive) -> bool:
        """Not while Git is at work on the files: it holds the index."""
        slug = archive.project.slug
        needs_it = archive.writer is not None and archive.writer.needs_refresh
        return needs_it and slug not in self._running and not self._care.is_changing(slug)

    def _begin_refresh(self, archive: Archive) -> None:
        if archive.writer is None or not self._can_refresh(archive):
            return
        try:
            work = archive.writer.start_refresh()
        except (AgentMailError, OSError) as error:
            self._fail(archive, error)
        else:
            self._running[archive.project.slug] = _Running(archive=archive, writer=archive.writer, work=work)

    def _end(self, running: _Running, timeout_s: float) -> None:
        archive = running.archive
        del self._running[archive.project.slug]
        try:
            running.work.finish(timeout_s)
            self._care.note_refresh(archive.project.slug, running.writer)
        except (AgentMailError, OSError) as error:
            self._fail(archive, error)
        else:
            self._troubles.recover(archive, archive.index)

    def _fail(self, archive: Archive, error: AgentMailError | OSError) -> None:
        self._troubles.fail(archive, archive.index, error)
        self._care.note_no_refresh(archive.project.slug, error)


def _has_blocked(archive: Archive) -> bool:
    """Also once more after they were reported: opening the archive anew may have written them."""
    return archive.writer is not None and (archive.writer.has_blocked or archive.work_tree.failures > 0)

"""What can wait until an archive is quiet: files that something stood in the way of, and Git's index."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from mcp_agent_mail.core.clock import SECOND, Clock, Micros
from mcp_agent_mail.core.errors import AgentMailError
from mcp_agent_mail.features.archiving.archives import Archive, Troubles
from mcp_agent_mail.features.archiving.care import Caretaker
from mcp_agent_mail.features.archiving.retries import LAST, Retry

IDLE = 2 * SECOND


class Tidier:
    """Commits go on, whatever fails here."""

    def __init__(self, care: Caretaker, troubles: Troubles, clock: Clock) -> None:
        self._care = care
        self._troubles = troubles
        self._clock = clock

    def step(self, archive: Archive) -> float | None:
        """Do what is due; seconds until something will be, None when only a new commit can bring work."""
        waits = []
        if _has_blocked(archive):
            waits.append(self._try_when_due(archive, archive.work_tree, self._write_blocked))
        if self._needs_refresh(archive):
            quiet = Micros(self._clock() - archive.commit.due)
            if 0 <= quiet + LAST < IDLE + LAST:
                waits.append((IDLE - quiet) / SECOND)
            else:
                waits.append(self._try_when_due(archive, archive.index, self.refresh))
        return min((wait for wait in waits if wait is not None), default=None)

    def finish(self, archives: Iterable[Archive], until: Micros) -> None:
        """Do all of it now, for so long."""
        for archive in archives:
            if self._clock() < until:
                self._write_blocked(archive)
                self.refresh(archive)

    def _try_when_due(self, archive: Archive, retry: Retry, act: Callable[[Archive], None]) -> float | None:
        """Commits go on meanwhile. Seconds until the next try, None once it has succeeded."""
        if not retry.wait(self._clock()):
            act(archive)
        return retry.wait(self._clock()) / SECOND if retry.failures else None

    def _write_blocked(self, archive: Archive) -> None:
        if archive.writer is None or not _has_blocked(archive):
            return
        try:
            archive.writer.write_blocked()
        except (AgentMailError, OSError) as error:
            self._troubles.fail(archive, archive.work_tree, error)
        else:
            self._troubles.recover(archive, archive.work_tree)

    def _needs_refresh(self, archive: Archive) -> bool:
        """Not while Git is at work on the files: it holds the index."""
        is_free = not self._care.is_changing(archive.project.slug)
        return archive.writer is not None and archive.writer.needs_refresh and is_free

    def refresh(self, archive: Archive) -> None:
        if archive.writer is None or not self._needs_refresh(archive):
            return
        try:
            archive.writer.refresh()
            self._care.note_refresh(archive.project.slug, archive.writer)
        except (AgentMailError, OSError) as error:
            self._troubles.fail(archive, archive.index, error)
        else:
            self._troubles.recover(archive, archive.index)


def _has_blocked(archive: Archive) -> bool:
    """Also once more after they were reported: opening the archive anew may have written them."""
    return archive.writer is not None and (archive.writer.has_blocked or archive.work_tree.failures > 0)

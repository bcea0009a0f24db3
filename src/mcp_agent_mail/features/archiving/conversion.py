"""Brings archives of an older version of the format to this one: one at a time, beside the commits, part by part."""

from __future__ import annotations

from collections.abc import Callable

from mcp_agent_mail.archive.repository import SealedCommit
from mcp_agent_mail.core.clock import SECOND, Clock, Micros
from mcp_agent_mail.core.errors import in_sentences
from mcp_agent_mail.features.archiving.archives import ArchiveState, log_unforeseen, message_of
from mcp_agent_mail.features.archiving.maintenance import Maintenance
from mcp_agent_mail.features.archiving.protocol import Converted, Report
from mcp_agent_mail.features.archiving.threads import Permits

NEXT_PART_S = 0.01
AGAIN_AFTER = 300 * SECOND
_LOOK_S = 0.25


class FormatConversion:
    """Of one archive. `step` does one part, after which commits have their turn. What fails is told and tried again
    from `not_before` on; mail is in Git all the same, in the version that the archive is in.
    """

    def __init__(
        self,
        archive: ArchiveState,
        care: Maintenance,
        permits: Permits,
        *,
        report: Callable[[Report], None],
        report_commit: Callable[[SealedCommit], None],
        clock: Clock,
    ) -> None:
        self._archive = archive
        self._care = care
        self._permits = permits
        self._report = report
        self._report_commit = report_commit
        self._clock = clock
        self.not_before = Micros(0)
        self._began: Micros | None = None

    @property
    def is_wanted(self) -> bool:
        """Is this archive of an older version, in Git or in its work tree?"""
        writer = self._archive.writer
        return writer is not None and writer.conversion.is_needed

    @property
    def is_due(self) -> bool:
        """Would a step do something, if it is this archive's turn?"""
        return self.is_wanted and self._clock() >= self.not_before

    @property
    def is_running(self) -> bool:
        return self._began is not None

    @property
    def is_moving_files(self) -> bool:
        """Is the work tree on its way? The index waits for that, and so do months that are to be put away."""
        writer = self._archive.writer
        return writer is not None and writer.conversion.is_half_done and self.is_due

    def step(self) -> float | None:
        """Do the next part; seconds until the one after it, None when nothing is to be done, or it waits its turn."""
        if not self.is_wanted:
            self.abandon()
            return None
        now = self._clock()
        self.not_before = min(self.not_before, Micros(now + AGAIN_AFTER))
        if now < self.not_before:
            return (self.not_before - now) / SECOND
        if self._care.is_changing:
            return _LOOK_S
        if not self._permits.take(self._slug):
            return None
        if self._began is None:
            self._began = now
            self._report(Converted(project=self._slug, is_done=False))
        try:
            return self._do_part()
        except Exception as failure:  # noqa: BLE001  # a fault of ours, too, is this archive's alone
            self._fail(failure)
            return AGAIN_AFTER / SECOND

    def abandon(self) -> None:
        """Leave it to a later step, or to the next process: nothing that was done is done again."""
        self._permits.give_back(self._slug)
        self._began = None

    @property
    def _slug(self) -> str:
        return self._archive.project.slug

    def _do_part(self) -> float | None:
        writer = self._archive.writer
        assert writer is not None
        sealed = writer.convert(self._archive.reported, self._clock())
        if sealed is not None:
            self._report_commit(sealed)
        if writer.conversion.is_needed:
            return NEXT_PART_S
        # As after mending: people who look find it clean, however busy it is.
        self._archive.is_mending = True
        began, now = self._began, self._clock()
        self.abandon()
        seconds = 0.0 if began is None else max(0.0, (now - began) / SECOND)
        self._report(Converted(project=self._slug, is_done=True, seconds=round(seconds, 1)))
        return None

    def _fail(self, failure: Exception) -> None:
        log_unforeseen(self._slug, failure)
        self.abandon()
        self.not_before = Micros(self._clock() + AGAIN_AFTER)
        again = f"It is tried again after {AGAIN_AFTER // (60 * SECOND)} minutes; mail goes on in the former format."
        message = in_sentences(f"cannot convert the archive to the new format: {message_of(failure)}", again)
        self._report(Converted(project=self._slug, is_done=False, problem=message))

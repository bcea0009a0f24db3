"""The retention report, and the purge that goes with it if the operator wants one: one task, one pass per interval."""

from __future__ import annotations

import logging

from mcp_agent_mail.core.clock import Clock, Micros, iso
from mcp_agent_mail.core.concurrency.periodic_work import Periodic
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.features.retention.service import PURGED_PER_CALL, OldMail, RetentionService

logger = logging.getLogger("mcp_agent_mail.retention")


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionPace:
    """`reports`: a line in the log for each project with old mail. `purges`: what may go goes."""

    interval_s: int
    reports: bool
    purges: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionFigures:
    """`old` and `may_go` are of the last pass that came to its end, `purged` since the start."""

    looked_at: Micros | None
    old: int
    may_go: int
    purged: int
    last_error: str | None


class RetentionWorker:
    """`start()` on the running loop, `await stop()` while the store is still open."""

    def __init__(self, service: RetentionService, pace: RetentionPace, *, clock: Clock) -> None:
        self._service = service
        self._pace = pace
        self._clock = clock
        self.keeper = Periodic("retention", self.look, interval_s=pace.interval_s)
        self._looked_at: Micros | None = None
        self._found = OldMail()
        self._purged = 0
        self.start = self.keeper.start
        self.stop = self.keeper.stop

    def figures(self) -> RetentionFigures:
        """Of the last look; what was purged is counted since the server started."""
        return RetentionFigures(
            looked_at=self._looked_at,
            old=self._found.old,
            may_go=self._found.may_go,
            purged=self._purged,
            last_error=self.keeper.error,
        )

    async def look(self) -> None:
        """One pass over all projects but those left out. A purge takes so many at most, and the next goes on."""
        projects, cutoff = await self._service.in_turn()
        total = OldMail()
        for project in projects:
            left = PURGED_PER_CALL - total.purged if self._pace.purges else 0
            found = await self._service.go_through(project, cutoff, most=left, is_over=lambda: self.keeper.is_stopping)
            self._purged += found.purged
            total = OldMail(
                old=total.old + found.old, may_go=total.may_go + found.may_go, purged=total.purged + found.purged
            )
            self._tell(project, found, cutoff.at)
            if self.keeper.is_stopping:
                return
        self._found = total
        self._looked_at = self._clock()

    def _tell(self, project: Project, found: OldMail, cutoff: Micros) -> None:
        if found.purged or (self._pace.reports and found.old):
            facts = {"project": project.slug, "before": iso(cutoff), "old": found.old, "may_go": found.may_go}
            logger.info("old mail", extra={"facts": facts | {"purged": found.purged}})

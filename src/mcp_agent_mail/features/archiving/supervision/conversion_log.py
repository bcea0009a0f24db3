"""What the server tells people of archives that are brought to this version of the format."""

from __future__ import annotations

import logging
from dataclasses import field

from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.features.archiving.protocol import Converted
from mcp_agent_mail.features.archiving.supervision.problems import PROBLEMS_KEPT

logger = logging.getLogger("mcp_agent_mail.archiving")


@dataclass(slots=True)
class ConversionLog:
    """`converting`: the project whose archive is at it now. `converted`: how many were, since the server's start.

    `errors`: why archives could not be, by project, until they are; a bounded number.
    """

    converting: str | None = None
    converted: int = 0
    errors: dict[str, str] = field(default_factory=dict)

    def forget(self) -> None:
        """A new archiver begins: what the one before it was at, or failed at, is begun anew."""
        self.converting = None
        self.errors.clear()

    def note(self, report: Converted) -> None:
        """Say it in the log, and remember it for whoever asks."""
        if report.problem:
            self.converting = None
            if report.project in self.errors or len(self.errors) < PROBLEMS_KEPT:
                self.errors[report.project] = report.problem
            facts = {"project": report.project, "problem": report.problem}
            logger.warning("an archive cannot be converted to the new format", extra={"facts": facts})
        elif report.is_done:
            self.converting = None
            self.errors.pop(report.project, None)
            self.converted += 1
            logger.info(
                "an archive has been converted to the new format",
                extra={"facts": {"project": report.project, "seconds": report.seconds}},
            )
        else:
            self.converting = report.project
            logger.info("an archive is being converted to the new format", extra={"facts": {"project": report.project}})

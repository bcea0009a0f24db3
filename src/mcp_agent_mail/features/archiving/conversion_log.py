"""What the server tells people of archives that are brought to this version of the format."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from mcp_agent_mail.features.archiving.protocol import Converted

logger = logging.getLogger("mcp_agent_mail.archiving")


@dataclass(slots=True)
class ConversionLog:
    """`converting`: the project whose archive is at it now. `converted`: how many were, since the server's start."""

    converting: str | None = None
    converted: int = 0

    def note(self, report: Converted) -> None:
        """Say it in the log, and remember it for whoever asks."""
        if report.is_done:
            self.converting = None
            self.converted += 1
            facts = {"project": report.project, "seconds": report.seconds}
            logger.info("an archive has been converted to the new format", extra={"facts": facts})
        else:
            self.converting = report.project
            logger.info("an archive is being converted to the new format", extra={"facts": {"project": report.project}})

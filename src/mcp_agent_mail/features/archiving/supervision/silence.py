"""Does the archiver still answer? A process that is stopped, or hangs, ends nothing and says nothing by itself."""

from __future__ import annotations

import math

from mcp_agent_mail.core.clock import Micros, to_datetime
from mcp_agent_mail.core.errors import Unavailable
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.features.archiving.protocol import Ready, Report


class ArchiverSilent(Unavailable):
    """The archiver runs and gives no sign of life."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SilenceLimits:
    """After `ask_every_s` without a report the archiver is asked, and again after as long: so many questions without
    an answer are told, so many more end it.

    Questions are counted, not seconds: after the sleep of a machine, or of the server, the next one is due first.
    """

    ask_every_s: float = 5.0
    told_after: int = 3
    killed_after: int = 12


PATIENCE = SilenceLimits()


class Silence:
    """Of one archiver: how many questions it has left unanswered. Every report is an answer to all of them.

    Until it says that it is ready it waits for its lock and answers nothing: it has `lock_timeout_s` more for that.
    """

    def __init__(self, pid: int, patience: SilenceLimits, *, lock_timeout_s: float, now: Micros) -> None:
        self._pid = pid
        self._patience = patience
        self._allowance = math.ceil(lock_timeout_s / patience.ask_every_s)
        self._asked = 0
        self._heard = now
        self.is_told = self.is_ended = False

    def note_report(self, report: Report, now: Micros) -> None:
        """Any report is a sign of life; Ready ends the longer patience of a start."""
        self._asked = 0
        self._heard = now
        self.is_told = False
        if isinstance(report, Ready):
            self._allowance = 0

    def note_question(self) -> None:
        self._asked += 1

    @property
    def is_long(self) -> bool:
        """Whether so many questions went unanswered that people are to be told."""
        return self._asked >= self._patience.told_after + self._allowance

    @property
    def is_too_long(self) -> bool:
        return self._asked >= self._patience.killed_after + self._allowance

    def told(self) -> ArchiverSilent:
        """What people are told of a silent archiver: since when, and in how many seconds it is killed."""
        since = to_datetime(self._heard).isoformat(timespec="seconds")
        left_s = (self._patience.killed_after - self._patience.told_after) * self._patience.ask_every_s
        return ArchiverSilent(
            f"The archiver (process {self._pid}) has given no sign of life since {since}: stopped, or it hangs.",
            hint=f"If it gives none for {left_s:g} s more it is killed and started again. What is pending is on disk.",
        )

    def ended(self) -> ArchiverSilent:
        return ArchiverSilent(
            f"The archiver (process {self._pid}) gave no sign of life and was killed.", hint="It is started again."
        )

"""The ladder of delivery: what became of one recipient's copy of a message, step by step, and how it may end.

held → delivered → handed over → shown → read → acknowledged → answered; an end (refused, expired, withdrawn) counts
only while the copy is unread. Each step is there once it has happened, at its first time, and is never taken back.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.lazy.dataclass import dataclass


class LadderStep(StrEnum):
    """What may happen to a copy, in the order of the ladder; the last three are its ends."""

    DELIVERED = "delivered"
    HANDED_OVER = "handed_over"
    SHOWN = "shown"
    READ = "read"
    ACKNOWLEDGED = "acknowledged"
    ANSWERED = "answered"
    REFUSED = "refused"
    EXPIRED = "expired"
    WITHDRAWN = "withdrawn"


HELD = "held"
"""The status of a copy before its first step."""

ENDS = (LadderStep.REFUSED, LadderStep.WITHDRAWN, LadderStep.EXPIRED)
_AFTER_READING = (LadderStep.ANSWERED, LadderStep.ACKNOWLEDGED, LadderStep.READ)
_BEFORE_READING = (LadderStep.SHOWN, LadderStep.HANDED_OVER, LadderStep.DELIVERED)
_BY_WEIGHT = (*_AFTER_READING, *ENDS, *_BEFORE_READING)
STATUSES = (HELD, *(step.value for step in LadderStep))


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyProgress:
    """The steps of one copy that have happened, each with its first time."""

    steps: Mapping[LadderStep, Micros]

    @property
    def status(self) -> str:
        """The highest step reached; an end beats what came before reading, and nothing that came with or after it."""
        return next((step.value for step in _BY_WEIGHT if step in self.steps), HELD)

    @property
    def in_order(self) -> dict[LadderStep, Micros]:
        """The steps as they stand on the ladder, ends last; none is told of as earlier than the delivery, where the
        clock was ahead at that.
        """
        delivered = self.steps.get(LadderStep.DELIVERED, Micros(0))
        return {step: max(self.steps[step], delivered) for step in LadderStep if step in self.steps}


class FeedEvent(StrEnum):
    """What a feed tells of: the first three in the recipient's, the rest, and expired, in the sender's.

    `unseen`: neither shown nor read in time. `gone`: retired, or its project archived, with the copy unread.
    """

    DELIVERED = "delivered"
    WITHDRAWN = "withdrawn"
    EXPIRED = "expired"
    SHOWN = "shown"
    READ = "read"
    ACKNOWLEDGED = "acknowledged"
    ANSWERED = "answered"
    REFUSED = "refused"
    UNSEEN = "unseen"
    GONE = "gone"

"""The ladder of delivery: what became of one recipient's copy of a message, step by step, and how it may end.

held → delivered → handed over → shown → read → acknowledged → answered; an end (refused, expired, withdrawn) counts
only while the copy is unread. Each step is there once it has happened, at its first time, and is never taken back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from mcp_agent_mail.core.clock import Micros


class Step(StrEnum):
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

ENDS = (Step.REFUSED, Step.WITHDRAWN, Step.EXPIRED)
_AFTER_READING = (Step.ANSWERED, Step.ACKNOWLEDGED, Step.READ)
_BEFORE_READING = (Step.SHOWN, Step.HANDED_OVER, Step.DELIVERED)
_BY_WEIGHT = (*_AFTER_READING, *ENDS, *_BEFORE_READING)
STATUSES = (HELD, *(step.value for step in Step))


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyProgress:
    """The steps of one copy that have happened, each with its first time."""

    steps: Mapping[Step, Micros]

    @property
    def status(self) -> str:
        """The highest step reached; an end beats what came before reading, and nothing that came with or after it."""
        return next((step.value for step in _BY_WEIGHT if step in self.steps), HELD)

    @property
    def in_order(self) -> dict[Step, Micros]:
        """The steps as they stand on the ladder, ends last."""
        return {step: self.steps[step] for step in Step if step in self.steps}


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

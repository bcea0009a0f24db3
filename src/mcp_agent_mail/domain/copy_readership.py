"""Who may know of one recipient's copy of a message: one rule, for statuses and for feeds."""

from __future__ import annotations

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.ladder import CopyProgress, LadderStep
from mcp_agent_mail.domain.messages import RecipientKind


def may_know_of_copy(kind: RecipientKind, *, is_delivered: bool, is_own: bool, is_proven_sender: bool) -> bool:
    """The sender knows of all copies once it is proven. Others, and a sender that is taken at its word, know of the
    open ones that were delivered, and of their own.
    """
    return is_proven_sender or (is_delivered and (is_own or kind is not RecipientKind.BCC))


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenEnds:
    """How a copy that a blind successor ended would have ended without it: by its time, by the withdrawal of its
    message, by another successor that is open.
    """

    valid_until: Micros | None
    withdrawn: Micros | None


def progress_beside(progress: CopyProgress, ends: OpenEnds, now: Micros) -> CopyProgress:
    """What others are shown of such a copy. To leave it out would tell of the blind successor as well."""
    steps = dict(progress.steps)
    for end in (LadderStep.EXPIRED, LadderStep.WITHDRAWN):
        steps.pop(end, None)
    until = now if ends.withdrawn is None else min(now, ends.withdrawn)
    if ends.valid_until is not None and ends.valid_until <= until:
        steps[LadderStep.EXPIRED] = ends.valid_until
    if ends.withdrawn is not None:
        steps[LadderStep.WITHDRAWN] = ends.withdrawn
    return CopyProgress(steps=steps)

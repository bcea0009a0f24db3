"""How long messages waited until a door's caller had them: counted since the start, by door."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import field

from mcp_agent_mail.core.clock import SECOND
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.doors.names import Door
from mcp_agent_mail.features.doors.results import Popped

BOUNDS_S = (0.01, 0.1, 1.0, 10.0, 60.0, 600.0, 3_600.0, 86_400.0)
"""From an agent that waits to one that comes back the next day."""


@dataclass(slots=True)
class WaitFigures:
    """`counts` has one more place than there are bounds: what waited longer than all."""

    total_s: float = 0.0
    counts: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS_S) + 1))


class DoorWaits:
    """For the event loop."""

    def __init__(self) -> None:
        self._by_door: dict[Door, WaitFigures] = {}

    def note(self, popped: Popped) -> None:
        """It waited from when it became deliverable until it was taken."""
        waited_s = max(0, popped.popped_ts - popped.created_ts) / SECOND
        figures = self._by_door.setdefault(popped.door, WaitFigures())
        figures.total_s += waited_s
        figures.counts[bisect_left(BOUNDS_S, waited_s)] += 1

    def figures(self) -> dict[Door, WaitFigures]:
        """Of those doors by which a message was taken."""
        return dict(self._by_door)

"""What tools were called, how long they took and who called them last: kept in memory, bounded, cheap to note.

A call costs two dictionary look-ups, a bisection and an append; nothing is written anywhere.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Iterator
from dataclasses import field
from heapq import merge

from mcp_agent_mail.core.clock import Clock, Micros
from mcp_agent_mail.core.ids import ProjectId
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.core.tools import RecordedCaller

NOBODY = RecordedCaller()

SMALLEST_S = 50e-6
BUCKETS = 44
BOUNDS_S: tuple[float, ...] = tuple(SMALLEST_S * 2 ** (step / 2) for step in range(BUCKETS))
"""From 50 microseconds to 148 seconds, each the root of two times the last: a quantile is right within 20 %."""

MAX_RECENT = 10_000
MAX_TOOLS = 200
_LONGEST_NAME = 200


@dataclass(slots=True)
class ToolFigures:
    """Of one tool since the start. `counts` has one more place than there are bounds: what took longer than all."""

    calls: int = 0
    errors: int = 0
    total_s: float = 0.0
    counts: list[int] = field(default_factory=lambda: [0] * (BUCKETS + 1))

    def since(self, earlier: ToolFigures) -> ToolFigures:
        """What has come after `earlier`, a copy of these figures."""
        return ToolFigures(
            calls=self.calls - earlier.calls,
            errors=self.errors - earlier.errors,
            total_s=self.total_s - earlier.total_s,
            counts=[now - then for now, then in zip(self.counts, earlier.counts, strict=True)],
        )

    def quantile_s(self, share: float) -> float | None:
        """The duration that `share` of the calls stayed within, within its bucket by the middle; None without calls."""
        if not self.calls:
            return None
        rank, seen = share * self.calls, 0
        for index, count in enumerate(self.counts):
            seen += count
            if count and seen >= rank:
                upper = BOUNDS_S[min(index, BUCKETS - 1)]
                lower = BOUNDS_S[index - 1] if index else 0.0
                return (lower + upper) / 2
        return BOUNDS_S[-1]


@dataclass(frozen=True, slots=True)
class RecentCall:
    """`agent` of `project_id` made it; None where nobody was proven or taken at its word. Then `project` is what the
    call named, not looked up.
    """

    at: Micros
    tool: str
    project: str | None
    agent: str | None
    project_id: ProjectId | None
    failed: bool


class Usage:
    """The figures of a running server. Not for several threads: calls end on the event loop."""

    def __init__(self, *, clock: Clock, max_recent: int = MAX_RECENT) -> None:
        self._clock = clock
        self._tools: dict[str, ToolFigures] = {}
        self._recent: deque[RecentCall] = deque(maxlen=max_recent)
        self._of_nobody: deque[RecentCall] = deque(maxlen=max_recent)  # A flood of these displaces no agent's.

    def note(self, tool: str, took_s: float, *, failed: bool, project: object, doer: RecordedCaller = NOBODY) -> None:
        """Count a call of a declared tool that has ended after `took_s` seconds, and remember who made it."""
        figures = self._tools.get(tool)
        if figures is None:
            if len(self._tools) >= MAX_TOOLS:
                return
            figures = self._tools[tool] = ToolFigures()
        figures.calls += 1
        figures.errors += failed
        figures.total_s += took_s
        figures.counts[bisect_left(BOUNDS_S, took_s)] += 1
        call = RecentCall(self._clock(), tool, _name(project), doer.agent_name, doer.project_id, failed)
        (self._of_nobody if doer.agent_name is None else self._recent).append(call)

    def of(self, tool: str) -> ToolFigures:
        return self._tools.get(tool) or ToolFigures()

    def tools(self) -> dict[str, ToolFigures]:
        """The figures by name, of those tools that were called."""
        return dict(self._tools)

    def recent(self, since: Micros) -> Iterator[RecentCall]:
        """Calls that ended at or after `since`, newest first."""
        both = (reversed(self._recent), reversed(self._of_nobody))
        for call in merge(*both, key=lambda call: call.at, reverse=True):
            if call.at < since:
                return
            yield call


def _name(given: object) -> str | None:
    return given[:_LONGEST_NAME] if isinstance(given, str) else None

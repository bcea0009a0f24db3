"""How the server fared in the last day: calls, errors, durations and what its archive owes, minute by minute.

In memory, and gone with the process: for a person who looks, not for monitoring, which reads the metrics.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence

from mcp_agent_mail.core.clock import Clock, Micros
from mcp_agent_mail.core.concurrency.periodic_work import Periodic
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.identity.caller import Caller, require_operator
from mcp_agent_mail.features.introspection.usage import BUCKETS, ToolFigures, Usage
from mcp_agent_mail.store.database import Store

EVERY_S = 60
KEPT = 24 * 60


@dataclass(frozen=True, slots=True, kw_only=True)
class PeriodicFigures:
    """Of the minute that ended `at`: `p95_s` is None without calls. `lag_s` is how long the oldest event has waited for
    Git, `pending` how many wait.
    """

    at: Micros
    calls: int
    errors: int
    p95_s: float | None
    lag_s: float
    pending: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerFigures:
    """`minutes` are at most KEPT, the oldest first. `tools` are those that were called, the most called first."""

    tools: Sequence[tuple[str, ToolFigures]]
    minutes: Sequence[PeriodicFigures]
    settings: Sequence[tuple[str, str]]


class FigureHistory:
    """`settings` are names and values as people may see them."""

    def __init__(self, store: Store, usage: Usage, settings: Sequence[tuple[str, str]], *, clock: Clock) -> None:
        self._store = store
        self._usage = usage
        self._settings = settings
        self._clock = clock
        self._minutes: deque[PeriodicFigures] = deque(maxlen=KEPT)
        self._before = ToolFigures()
        self.keeper = Periodic("figure-history", self.note, interval_s=EVERY_S)

    async def note(self) -> None:
        """Keep the figures of the time since the last note. Raises what a sick store raises."""
        backlog = await self._store.read(lambda view: view.outbox.backlog(view.now))
        whole = together(self._usage.tools())
        since = whole.since(self._before)
        self._before = whole
        self._minutes.append(
            PeriodicFigures(
                at=self._clock(),
                calls=since.calls,
                errors=since.errors,
                p95_s=since.quantile_s(0.95),
                lag_s=backlog.oldest_pending_s,
                pending=backlog.pending_events,
            )
        )

    def look(self, caller: Caller) -> ServerFigures:
        """All of it, for the operator."""
        require_operator(caller)
        tools = self._usage.tools()
        return ServerFigures(
            tools=sorted(tools.items(), key=lambda one: (-one[1].calls, one[0])),
            minutes=list(self._minutes),
            settings=self._settings,
        )


def together(tools: Mapping[str, ToolFigures]) -> ToolFigures:
    """The figures of all of these tools as of one."""
    counts = [0] * (BUCKETS + 1)
    for figures in tools.values():
        counts = [one + more for one, more in zip(counts, figures.counts, strict=True)]
    return ToolFigures(
        calls=sum(one.calls for one in tools.values()),
        errors=sum(one.errors for one in tools.values()),
        total_s=sum(one.total_s for one in tools.values()),
        counts=counts,
    )

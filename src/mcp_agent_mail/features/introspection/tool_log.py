"""TOOL_METRICS_EMIT_ENABLED: now and then a log line for each tool that was called meanwhile."""

from __future__ import annotations

import logging

from mcp_agent_mail.core.concurrency.periodic_work import Periodic
from mcp_agent_mail.features.introspection.usage import ToolFigures, Usage

logger = logging.getLogger("mcp_agent_mail.tool_metrics")

_NO_CALLS = ToolFigures()


class ToolLog:
    """Calls, errors and durations of each interval, not of the whole time. The last interval ends with the stop."""

    def __init__(self, usage: Usage, *, interval_s: float) -> None:
        self._usage = usage
        self._told: dict[str, ToolFigures] = {}
        self.keeper = Periodic("tool-metrics", self.emit, interval_s=interval_s)

    def start(self) -> None:
        self.keeper.start()

    async def stop(self) -> None:
        await self.keeper.stop()
        await self.emit()

    async def emit(self) -> None:
        """A line per tool called since the last one."""
        for tool, figures in self._usage.tools().items():
            meanwhile = figures.since(self._told.get(tool, _NO_CALLS))
            if meanwhile.calls:
                self._told[tool] = figures.since(_NO_CALLS)
                logger.info("tool metrics", extra={"facts": {"tool": tool, **_facts(meanwhile)}})


def _facts(figures: ToolFigures) -> dict[str, object]:
    facts: dict[str, object] = {"calls": figures.calls, "errors": figures.errors}
    for percent in (50, 95, 99):
        seconds = figures.quantile_s(percent / 100)
        facts[f"p{percent}_ms"] = None if seconds is None else round(seconds * 1_000, 3)
    return facts

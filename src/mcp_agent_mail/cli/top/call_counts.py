"""Calls by tool out of the text of `/metrics`, and what happened between two looks at it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import field

from mcp_agent_mail.core.lazy.dataclass import dataclass

_PREFIX = "mcp_agent_mail_"
_LINE = re.compile(r"([a-z_]+)(?:\{([^}]*)\})? (\S+)")
_LABEL = re.compile(r'(\w+)="([^"\\]*)"')
_MS = 1_000.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCalls:
    """Since the server's start. `buckets`: how many calls took at most so many seconds, by that bound."""

    calls: float = 0
    errors: float = 0
    buckets: Mapping[float, float] = field(default_factory=dict)

    def since(self, before: ToolCalls) -> ToolCalls:
        """What came after `before`."""
        buckets = {bound: count - before.buckets.get(bound, 0) for bound, count in self.buckets.items()}
        return ToolCalls(calls=self.calls - before.calls, errors=self.errors - before.errors, buckets=buckets)

    def quantile_ms(self, share: float) -> float | None:
        """Within how long this share of the calls has ended, by the straight line through its bucket; None without
        calls.
        """
        bounds = sorted(self.buckets)
        if not bounds or self.buckets[bounds[-1]] <= 0:
            return None
        wanted, low, below = self.buckets[bounds[-1]] * share, 0.0, 0.0
        for bound in bounds[:-1]:
            if (count := self.buckets[bound]) >= wanted:
                return round((low + (bound - low) * (wanted - below) / (count - below)) * _MS, 3)
            low, below = bound, count
        return round(low * _MS, 3)


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFigures:
    """One look at a server's figures. `started_s` tells its runs apart; `gauges` are those without labels."""

    at_s: float
    started_s: float
    tools: Mapping[str, ToolCalls]
    gauges: Mapping[str, float]

    def total(self) -> ToolCalls:
        """All tools together."""
        return added(self.tools.values())

    def gauge(self, name: str) -> int | None:
        """A figure by its name without our prefix, whole; None where the server does not tell it."""
        found = self.gauges.get(name)
        return None if found is None else round(found)

    def follows(self, before: CallFigures) -> bool:
        """Whether this is the same run of the server, later."""
        return self.started_s == before.started_s and self.at_s > before.at_s


def added(tools: Iterable[ToolCalls]) -> ToolCalls:
    """The calls of several tools as of one."""
    calls = errors = 0.0
    buckets: dict[float, float] = {}
    for one in tools:
        calls, errors = calls + one.calls, errors + one.errors
        for bound, count in one.buckets.items():
            buckets[bound] = buckets.get(bound, 0) + count
    return ToolCalls(calls=calls, errors=errors, buckets=buckets)


def read_figures(text: str, *, at_s: float) -> CallFigures:
    """What Prometheus' text says, at the time `at_s` of the reader's own clock. Lines that are not known are passed
    over.
    """
    calls: dict[str, dict[str, float]] = {}
    buckets: dict[str, dict[float, float]] = {}
    gauges: dict[str, float] = {}
    started_s = 0.0
    for name, labels, value in _lines(text):
        if name == "process_start_time_seconds":
            started_s = value
        elif name == f"{_PREFIX}tool_calls_total":
            calls.setdefault(labels.get("tool", ""), {})[labels.get("outcome", "")] = value
        elif name == f"{_PREFIX}tool_duration_seconds_bucket":
            buckets.setdefault(labels.get("tool", ""), {})[float(labels.get("le", "inf"))] = value
        elif name.startswith(_PREFIX) and not labels:
            gauges[name.removeprefix(_PREFIX)] = value
    tools = {
        tool: ToolCalls(calls=sum(ends.values()), errors=ends.get("error", 0), buckets=buckets.get(tool, {}))
        for tool, ends in calls.items()
    }
    return CallFigures(at_s=at_s, started_s=started_s, tools=tools, gauges=gauges)


def _lines(text: str) -> list[tuple[str, dict[str, str], float]]:
    found = []
    for line in text.splitlines():
        if match := _LINE.fullmatch(line):
            try:
                found.append((match[1], dict(_LABEL.findall(match[2] or "")), float(match[3])))
            except ValueError:
                continue
    return found

"""What one look shows: the server, its calls, and who is there with how much mail and which leases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from mcp_agent_mail.core.lazy.dataclass import dataclass

MOST_SHOWN = 100
"""Of agents, in JSON and in memory, those that were active last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentLook:
    """An agent that is not retired. `last_active_ts` is ISO 8601; `unread` is None where whoever looks is not told, and
    `listening` where nobody can say; with `has_more_leases` it may hold more than `leases`.
    """

    name: str
    project: str
    program: str
    unread: int | None
    leases: int
    listening: bool | None
    last_active_ts: str
    has_more_leases: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectLook:
    """A project as it was when it was looked at last. `agents` are those active last, of `agents_count`; with
    `has_more_leases` there are more than `leases`.
    """

    slug: str
    agents: Sequence[AgentLook]
    agents_count: int
    leases: int
    has_more_leases: bool

    @property
    def unread(self) -> int:
        return sum(one.unread or 0 for one in self.agents)

    @property
    def has_more_unread(self) -> bool:
        """Whether there are agents whose mail is not in `unread`."""
        return self.agents_count > len(self.agents) or any(one.unread is None for one in self.agents)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectFigures:
    """What projects have together; each `has_more` says that there is more than its sum."""

    agents: int
    unread: int
    leases: int
    has_more_agents: bool
    has_more_unread: bool
    has_more_leases: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRow:
    """A tool that was called in the window."""

    tool: str
    calls_per_s: float
    p95_ms: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CallLook:
    """Calls in the last `window_s` seconds: all, those that failed, and of the busiest tools. A quantile is None where
    nothing was called.
    """

    window_s: float
    calls_per_s: float
    errors_per_s: float
    p95_ms: float | None
    p95_ms_since_start: float | None
    tools: Sequence[ToolRow] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FullLook:
    """One look. `server` is what it says of itself (ok, degraded, error), or `busy` or `refusing` where it
    answered nothing else, or `none`: with these three the figures are the store's.
    `problem` is why there is less than there could be. A figure is a lower bound where its `has_more` is true.
    """

    server: str
    url: str | None = None
    version: str | None = None
    problem: str | None = None
    projects: int = 0
    projects_seen: int = 0
    agents: int = 0
    unread: int = 0
    leases: int = 0
    has_more_projects: bool = False
    has_more_agents: bool = False
    has_more_unread: bool = False
    has_more_leases: bool = False
    calls: CallLook | None = None
    pending_events: int | None = None
    oldest_pending_s: float | None = None
    waits: int | None = None
    streams: int | None = None
    rows: Sequence[AgentLook] = ()

    # Plain JSON.
    def to_json(self) -> dict[str, Any]:
        """`rows` as `agents_shown`; times as they are."""
        value = asdict(self)
        value["agents_shown"] = value.pop("rows")
        return value


def added_up(looks: Sequence[ProjectLook], *, is_whole: bool) -> ProjectFigures:
    """What they have together. Unless they are all there are (`is_whole`), every sum is a lower bound."""
    return ProjectFigures(
        agents=sum(one.agents_count for one in looks),
        unread=sum(one.unread for one in looks),
        leases=sum(one.leases for one in looks),
        has_more_agents=not is_whole,
        has_more_unread=not is_whole or any(one.has_more_unread for one in looks),
        has_more_leases=not is_whole or any(one.has_more_leases for one in looks),
    )


def seen_agents(looks: Sequence[ProjectLook]) -> list[AgentLook]:
    """The agents of all of them that were active last, of those the names in order."""
    rows = [row for look in looks for row in look.agents]
    rows.sort(key=lambda row: (row.project, row.name))
    rows.sort(key=lambda row: row.last_active_ts, reverse=True)
    return rows[:MOST_SHOWN]

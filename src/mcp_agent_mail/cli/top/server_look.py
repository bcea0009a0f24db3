"""Looks at a running server, each at a bounded cost: its figures, and of its projects a few at a time.

`health_check` writes to the store, so it is asked now and then; `/metrics` costs 3 ms and is asked each time.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from mcp_agent_mail.cli.exit_codes import WireError, code_of
from mcp_agent_mail.cli.gateway.http import HttpGateway, Server
from mcp_agent_mail.cli.project_option import list_uri, resource_uri
from mcp_agent_mail.cli.top.call_counts import CallFigures, ToolCalls, read_figures
from mcp_agent_mail.cli.top.full_look import (
    AgentLook,
    CallLook,
    FullLook,
    ProjectLook,
    ToolRow,
    added_up,
    seen_agents,
)
from mcp_agent_mail.core.errors import AuthenticationRequired, PermissionDenied

ANSWER_WITHIN_S = 3.0
PROJECTS_A_LOOK = 4
"""Of which agents and leases are asked: eight questions, where none has more than a list holds."""
_LISTED = 1_000
"""What a list of the server holds at most."""
_LISTS = 10
"""Of so many lists at most are projects counted, and the leases of one of them."""
_MORE_LISTS = 10
"""Beyond the first of each project, so many lists of leases are asked for in a look."""
_LIST_EVERY = 15
_HEALTH_EVERY = 5
_WINDOW_S = 60.0
_METRICS = "/metrics"
_METRICS_AT_MOST = 4 << 20
_BUSIEST = 5
_NOT_TOLD = (AuthenticationRequired.code, PermissionDenied.code)


class ServerLook:
    """One server as long as it answers. Raises AgentMailError where it does not; then it is to be closed."""

    def __init__(self, server: Server, *, now: Callable[[], float] = time.monotonic) -> None:
        self.url = server.url
        self._gateway = HttpGateway(server, answer_timeout_s=ANSWER_WITHIN_S)
        self._now = now
        self._figures: deque[CallFigures] = deque()
        # Plain JSON.
        self._health: dict[str, Any] = {}
        self._slugs: list[str] = []
        self._has_more_projects = False
        self._lists_left = 0
        self._without_leases: set[str] = set()
        """Projects whose leases whoever asks is not told."""
        self._looks: dict[str, ProjectLook] = {}
        self._turn = 0
        self._count = 0

    def close(self) -> None:
        self._gateway.close()

    def look(self, *, projects: int = PROJECTS_A_LOOK) -> FullLook:
        """What is known now, of so many projects anew."""
        if self._count % _HEALTH_EVERY == 0:
            self._health = self._gateway.call("health_check", {})
        self._read_figures()
        if self._count % _LIST_EVERY == 0:
            self._list_projects()
        self._lists_left = _MORE_LISTS
        for slug in self._next(projects):
            self._look_at(slug)
        self._count += 1
        return self._overview()

    def _read_figures(self) -> None:
        figures = read_figures(self._gateway.page(_METRICS, at_most=_METRICS_AT_MOST), at_s=self._now())
        if self._figures and not figures.follows(self._figures[-1]):
            self._figures.clear()
        self._figures.append(figures)
        while figures.at_s - self._figures[0].at_s > _WINDOW_S:
            self._figures.popleft()

    def _list_projects(self) -> None:
        found: list[Any] = []
        for _ in range(_LISTS):
            page = self._gateway.read(list_uri("projects", limit=_LISTED, **_after(found)))
            found += page
            if len(page) < _LISTED:
                break
        self._has_more_projects = len(found) == _LISTS * _LISTED
        self._without_leases.clear()
        self._slugs = [str(one["slug"]) for one in reversed(found)]
        self._looks = {slug: look for slug, look in self._looks.items() if slug in set(self._slugs)}

    def _next(self, count: int) -> list[str]:
        """In turn, the newest project first."""
        count = min(count, len(self._slugs))
        taken = [self._slugs[(self._turn + at) % len(self._slugs)] for at in range(count)]
        self._turn = (self._turn + count) % max(1, len(self._slugs))
        return taken

    def _look_at(self, slug: str) -> None:
        agents = self._gateway.read(resource_uri("agents", slug))["agents"]
        leases, has_more_leases = self._leases(slug)
        held = Counter(str(lease["agent"]) for lease in leases)
        rows = [
            AgentLook(
                name=str(one["name"]),
                project=slug,
                program=str(one["program"]),
                unread=None if one["unread_count"] is None else int(one["unread_count"]),
                leases=held[str(one["name"])],
                has_more_leases=has_more_leases,
                listening=bool(one["listening"]),
                last_active_ts=str(one["last_active_ts"]),
            )
            for one in agents
        ]
        self._looks[slug] = ProjectLook(
            slug=slug,
            agents=rows,
            agents_count=len(rows) if len(rows) < _LISTED else self._agents_count(slug),
            leases=len(leases),
            has_more_leases=has_more_leases,
        )

    def _agents_count(self, slug: str) -> int:
        """All of them: the list of a project's agents ends with those active last."""
        return int(self._gateway.call("list_agents", {"project_key": slug, "limit": 1})["total"])

    # Leases as JSON has them.
    def _leases(self, slug: str) -> tuple[list[dict[str, Any]], bool]:
        """Those that hold, and whether there are more than this look has lists for, or is told."""
        found: list[dict[str, Any]] = []
        for _ in range(_LISTS):
            page = self._lease_page(slug, _after(found))
            if page is None:
                break
            found += page
            if len(page) < _LISTED:
                return found, False
            if self._lists_left == 0:
                break
            self._lists_left -= 1
        return found, True

    # As above.
    def _lease_page(self, slug: str, after: Mapping[str, int]) -> list[dict[str, Any]] | None:
        """None where whoever asks is not told, who is not asked for again before projects are listed anew."""
        if slug in self._without_leases:
            return None
        try:
            page: list[dict[str, Any]] = self._gateway.read(
                resource_uri("file_reservations", slug, limit=_LISTED, **after)
            )
        except WireError as refused:
            if code_of(refused) not in _NOT_TOLD:
                raise
            self._without_leases.add(slug)
            return None
        return page

    def _overview(self) -> FullLook:
        looks, newest = list(self._looks.values()), self._figures[-1]
        sums = added_up(looks, is_whole=len(looks) == len(self._slugs) and not self._has_more_projects)
        return FullLook(
            server=str(self._health["status"]),
            url=self.url,
            version=str(self._health["version"]),
            problem=self._problem(),
            projects=len(self._slugs),
            has_more_projects=self._has_more_projects,
            projects_seen=len(looks),
            **asdict(sums),
            calls=call_look(self._figures[0], newest),
            pending_events=newest.gauge("archive_pending_events"),
            oldest_pending_s=newest.gauges.get("archive_oldest_pending_seconds"),
            waits=newest.gauge("waits"),
            streams=newest.gauge("event_streams"),
            rows=seen_agents(looks),
        )

    def _problem(self) -> str | None:
        for part in ("store", "archive"):
            if told := self._health[part].get("last_error"):
                return f"{part}: {told}"
        if self._health["status"] == "error":
            return "its store cannot be read or written"
        return self._untold()

    def _untold(self) -> str | None:
        """What this token is not told, and which one is."""
        without_mail = {slug for slug, look in self._looks.items() if any(one.unread is None for one in look.agents)}
        count = len(self._without_leases | without_mail)
        if not count:
            return None
        whose = "1 project" if count == 1 else f"{count} projects"
        return (
            f"leases or unread mail of {whose} are not told to this token: one that was issued with --role operator in "
            "AGENT_MAIL_TOKEN shows all, an agent's what that agent sees"
        )


# Rows as JSON has them.
def _after(found: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """What asks for the list behind these."""
    return {"after_id": int(found[-1]["id"])} if found else {}


def call_look(first: CallFigures, last: CallFigures) -> CallLook | None:
    """What was called from one look to the other; None where they are the same."""
    window_s = last.at_s - first.at_s
    if window_s <= 0:
        return None
    between = {tool: calls.since(first.tools.get(tool, ToolCalls())) for tool, calls in last.tools.items()}
    total = last.total().since(first.total())
    busy = sorted((item for item in between.items() if item[1].calls > 0), key=lambda item: (-item[1].calls, item[0]))
    return CallLook(
        window_s=round(window_s, 3),
        calls_per_s=round(total.calls / window_s, 2),
        errors_per_s=round(total.errors / window_s, 2),
        p95_ms=total.quantile_ms(0.95),
        p95_ms_since_start=last.total().quantile_ms(0.95),
        tools=[
            ToolRow(tool=tool, calls_per_s=round(calls.calls / window_s, 2), p95_ms=calls.quantile_ms(0.95))
            for tool, calls in busy[:_BUSIEST]
        ],
    )

"""Keeps the snapshot of each project's leases up to date, after the commits that changed them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import field
from pathlib import Path

from mcp_agent_mail.archive.folders import opened, renew_file
from mcp_agent_mail.core.clock import SECOND, Clock, Micros
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.domain.archive_format.lease_snapshot import MAX_AGENTS, MAX_LEASES, render_snapshot, snapshot_name
from mcp_agent_mail.domain.archive_format.names import safe_slug
from mcp_agent_mail.domain.events import EventKind, OutboxEvent
from mcp_agent_mail.domain.leases import LeaseKind
from mcp_agent_mail.domain.projects import Project, is_slug
from mcp_agent_mail.features.archiving.archives import Retry, hint_of, log_unforeseen, message_of
from mcp_agent_mail.features.archiving.protocol import Failed, Recovered, Report
from mcp_agent_mail.store.agents import Agents
from mcp_agent_mail.store.leases import Leases
from mcp_agent_mail.store.projects import Projects

_TELLING = frozenset((EventKind.RESERVATION, EventKind.PROFILE, EventKind.PROJECT, EventKind.ADOPTION))
_PART = "lease snapshot"
_PAGE = 200
_WRITTEN_AT_ONCE = 20
_SHARE = 10
"""A large snapshot is written less often: a tenth of the time at most."""


@dataclass(slots=True, kw_only=True)
class _Due:
    project: Project
    is_due: bool = True
    retry: Retry = field(default_factory=Retry)


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotPlace:
    """`folder` is where the archives lie; `interval` the shortest time between two snapshots of a project."""

    folder: Path
    store_id: str
    interval: Micros


class LeaseSnapshots:
    """The snapshots of all projects, each written after the commit of what it shows."""

    def __init__(
        self, place: SnapshotPlace, leases: Leases, agents: Agents, *, report: Callable[[Report], None], clock: Clock
    ) -> None:
        self._place = place
        self._leases = leases
        self._agents = agents
        self._report = report
        self._clock = clock
        self._known: dict[int, _Due] = {}
        self._looking: Iterator[None] = iter(())

    def note(self, project: Project, events: Iterable[OutboxEvent]) -> None:
        """These events are in Git: the project's snapshot is due if one of them tells of a lease, or of who can hold
        one.
        """
        if any(event.kind in _TELLING for event in events):
            self._require(project)

    def resume(self, projects: Projects) -> None:
        """At start: look at every project's snapshot in the next steps, since an earlier process may have left one
        older than the store.
        """
        self._looking = self._look_at_all(projects)

    def _look_at_all(self, projects: Projects) -> Iterator[None]:
        after = 0
        while page := projects.list_(include_archived=True, limit=_PAGE, after_id=after):
            after = page[-1].id
            for project in filter(lambda project: is_slug(project.slug), page):
                has_leases = bool(self._leases.newest_live(project.id, LeaseKind.FILE, self._clock(), 1))
                if has_leases or (self._place.folder / snapshot_name(project.slug)).exists():
                    self._require(project)
            yield

    def step(self) -> float | None:
        """Write what is due, a few at a time; seconds until something will be, None when nothing is waited for."""
        if next(self._looking, self) is None:
            return 0.0
        waits, written = [], 0
        for project_id, due in list(self._known.items()):
            wait = due.retry.wait(self._clock())
            if wait:
                waits.append(wait / SECOND if due.is_due else None)
            elif not due.is_due:
                del self._known[project_id]
            elif written == _WRITTEN_AT_ONCE:
                return 0.0
            else:
                written += 1
                waits.append(self._write(due))
        return min((wait for wait in waits if wait is not None), default=None)

    def finish(self) -> None:
        """Write everything that is due now."""
        for _ in self._looking:
            pass
        for due in self._known.values():
            if due.is_due:
                self._write(due)

    def _require(self, project: Project) -> None:
        due = self._known.setdefault(project.id, _Due(project=project))
        due.is_due = True

    def _write(self, due: _Due) -> float | None:
        started = self._clock()
        try:
            self._replace(due.project, started)
        except Exception as error:  # noqa: BLE001  # a fault of ours, too, is this project's alone
            log_unforeseen(due.project.slug, error)
            due.retry.fail(self._clock())
            self._report(Failed(project=due.project.slug, part=_PART, message=message_of(error), hint=hint_of(error)))
            return due.retry.wait(self._clock()) / SECOND
        if due.retry.succeed():
            self._report(Recovered(project=due.project.slug, part=_PART))
        due.is_due = False
        due.retry.due = Micros(started + max(self._place.interval, _SHARE * (self._clock() - started)))
        return None

    def _replace(self, project: Project, now: Micros) -> None:
        leases = self._leases.newest_live(project.id, LeaseKind.FILE, now, MAX_LEASES + 1)
        names = [agent.name for agent in self._agents.list_(project.id, limit=MAX_AGENTS)]
        snapshot = render_snapshot(project, self._place.store_id, names, leases, now)
        # At a start it may be due before the first archive is begun.
        self._place.folder.mkdir(exist_ok=True)
        # The store's own folder may be a link of its owner; in it nothing that lies in the way is opened or waited for.
        with opened(self._place.folder.resolve()) as folder:
            renew_file(folder, snapshot_name(safe_slug(project.slug)), snapshot)

"""A project with leases in its archive."""

from __future__ import annotations

import json
from typing import Any

from mcp_agent_mail.core.clock import SECOND, Micros
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.leases import EndedBy, Lease, LeaseKeys, LeaseKind, NewLease
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.store.lease_events import end_leases, record_event
from tests.archive_harness import ArchiveHarness


class Held:
    """One project, one agent, and what it holds."""

    def __init__(self, harness: ArchiveHarness) -> None:
        self.harness = harness
        self.project: Project = harness.add_project("/code/app")
        self.agent: Agent = harness.add_agent(self.project, "BlueLake")

    def hold(self, pattern: str = "src/**", kind: LeaseKind = LeaseKind.FILE, ttl_s: int = 3_600) -> Lease:
        now = self.harness.clock()
        lease = self.harness.tx.leases.add(
            NewLease(
                project_id=self.project.id,
                agent_id=self.agent.id,
                agent=self.agent.name,
                kind=kind,
                path_pattern=pattern,
                keys=LeaseKeys(anchor="src"),
                exclusive=True,
                reason="the parser",
                expires_ts=Micros(now + ttl_s * SECOND),
            ),
            now,
        )
        record_event(self.harness.tx, lease, self.project, acting=self.agent)
        return lease

    def end(self, lease: Lease, by: EndedBy = EndedBy.RELEASE) -> None:
        end_leases(self.harness.tx, [lease], by, acting=self.agent)

    def revive(self, lease: Lease) -> Lease:
        now = self.harness.clock()
        ended = self.harness.tx.leases.find(lease.id)
        assert ended is not None
        back = self.harness.tx.leases.regrant(
            ended,
            Micros(now + 60 * SECOND),
            exclusive=True,
            is_folder=False,
            keys=LeaseKeys(anchor="src"),
            reason="again",
        )
        record_event(self.harness.tx, back, self.project, acting=self.agent, lapsed_ts=ended.released_ts)
        return back

    def file(self, path: str) -> dict[str, Any] | None:
        place = self.harness.path(self.project) / path
        return json.loads(place.read_bytes()) if place.exists() else None

    def snapshot(self) -> dict[str, Any]:
        path = self.harness.path(self.project)
        value: dict[str, Any] = json.loads(path.with_name(f"{path.name}.leases.json").read_bytes())
        return value

"""What happens to leases, with its event for the archive, in one unit of work."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import LeaseId, ProjectId
from mcp_agent_mail.domain.agents import Agent
from mcp_agent_mail.domain.archive_format.leases import KIND_OF_EVENT, lease_snapshot
from mcp_agent_mail.domain.events import NewEvent
from mcp_agent_mail.domain.leases import EndedBy, Lease
from mcp_agent_mail.domain.projects import Project
from mcp_agent_mail.store.transaction import Tx


def end_leases(
    tx: Tx,
    leases: Sequence[Lease],
    ended_by: EndedBy,
    *,
    acting: Agent | None = None,
    evidence: Mapping[LeaseId, Mapping[str, Any]] | None = None,
) -> list[Lease]:
    """Those that nobody had ended before, as they are now. What had expired before ended then, by its expiry.

    `acting` is the agent whose act it is, for the archive's history; None is the server. `evidence` is plain JSON:
    what the end of each lease rests on, stored with it.
    """
    projects: dict[ProjectId, Project] = {}
    ended = [
        *tx.leases.end([(one.id, one.expires_ts) for one in leases if one.expires_ts <= tx.now], EndedBy.EXPIRY),
        *tx.leases.end([(one.id, tx.now) for one in leases if one.expires_ts > tx.now], ended_by, evidence),
    ]
    for lease in ended:
        if lease.project_id not in projects:
            project = tx.projects.find(lease.project_id)
            assert project is not None, lease
            projects[lease.project_id] = project
        is_act = lease.ended_by is not EndedBy.EXPIRY
        record_event(tx, lease, projects[lease.project_id], acting=acting if is_act else None)
    return ended


# `evidence` is plain JSON.
def end_imported(
    tx: Tx, lease: Lease, at: Micros, ended_by: EndedBy, evidence: Mapping[str, Any] | None
) -> Lease | None:
    """End one that came as history, when and how another system says; None where it had ended before."""
    ended = tx.leases.end([(lease.id, at)], ended_by, None if evidence is None else {lease.id: evidence})
    if not ended:
        return None
    project, holder = tx.projects.find(lease.project_id), tx.agents.find(lease.agent_id)
    assert project is not None, lease
    record_event(tx, ended[0], project, acting=holder if ended_by is EndedBy.RELEASE else None)
    return ended[0]


def record_event(
    tx: Tx,
    lease: Lease,
    project: Project,
    *,
    acting: Agent | None,
    lapsed_ts: Micros | None = None,
) -> None:
    """Queue the lease as it is now for the project's archive; `lapsed_ts` is when it had ended, if it is
    granted anew.
    """
    snapshot = lease_snapshot(lease, project, lapsed_ts=lapsed_ts)
    tx.outbox.add(
        NewEvent(
            project_id=project.id,
            kind=KIND_OF_EVENT[lease.kind],
            agent_id=None if acting is None else acting.id,
            message_id=None,
            snapshot=snapshot | {"acting": None if acting is None else acting.name},
        ),
        tx.now,
    )


def sweep_expired(tx: Tx, limit: int) -> list[Lease]:
    """End at most `limit` leases that have expired, the longest expired first, in every project."""
    return end_leases(tx, tx.leases.expired_unswept(tx.now, limit), EndedBy.EXPIRY)

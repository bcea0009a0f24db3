"""Agents at work and reservations held, as rows."""

from __future__ import annotations

from collections.abc import Sequence

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.lazy.dataclass import dataclass
from mcp_agent_mail.features.oversight.activity import SeenActivity


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerRow:
    """`called` is the tool of its last call, None where none is known; `has_failed` is what became of that."""

    name: str
    project: str
    project_name: str
    task: str
    program: str
    status: str
    status_note: str | None
    active_ts: Micros
    called: str | None
    called_ts: Micros | None
    has_failed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ReservedRow:
    holder: str
    project: str
    project_name: str
    pattern: str
    is_exclusive: bool
    reason: str
    created_ts: Micros
    expires_ts: Micros


def worker_rows(seen: SeenActivity) -> Sequence[WorkerRow]:
    """Last active first."""
    return [
        WorkerRow(
            name=one.agent.name,
            project=one.project.slug,
            project_name=one.project.name,
            task=one.agent.task_description,
            program=one.agent.program,
            status=one.agent.status.value,
            status_note=one.agent.status_note,
            active_ts=one.agent.last_active_ts,
            called=None if one.last_call is None else one.last_call.tool,
            called_ts=None if one.last_call is None else one.last_call.at,
            has_failed=one.last_call is not None and one.last_call.failed,
        )
        for one in seen.agents
    ]


def reserved_rows(seen: SeenActivity) -> Sequence[ReservedRow]:
    """The newest first."""
    return [
        ReservedRow(
            holder=one.lease.agent,
            project=one.project.slug,
            project_name=one.project.name,
            pattern=one.lease.path_pattern,
            is_exclusive=one.lease.exclusive,
            reason=one.lease.reason,
            created_ts=one.lease.created_ts,
            expires_ts=one.lease.expires_ts,
        )
        for one in seen.leases
    ]

"""`file_reservations/…json` and `build_slots/…json`: one lease."""

from __future__ import annotations

from typing import Any

from mcp_agent_mail.core.ids import AgentId, LeaseId
from mcp_agent_mail.domain.archive_format.artifacts import ArchivedLease
from mcp_agent_mail.domain.archive_format.json_text import document
from mcp_agent_mail.domain.archive_format.leases import KIND_OF_EVENT, lease_file, lease_path
from mcp_agent_mail.domain.archive_format.names import safe_name
from mcp_agent_mail.domain.archive_format.parse.fields import Unfit, read_object, require_same
from mcp_agent_mail.domain.leases import EndedBy, LeaseKind


def parse_lease(kind: LeaseKind, path: str, content: bytes, version: int) -> ArchivedLease:
    """Raises ValueError."""
    fields = read_object(content)
    is_file = kind is LeaseKind.FILE
    lease = ArchivedLease(
        id=LeaseId(fields.number("id")),
        kind=kind,
        project_key=fields.text("project"),
        agent_id=AgentId(fields.number("agent_id")),
        agent=safe_name(fields.text("agent")),
        path_pattern=fields.text("path_pattern" if is_file else "slot"),
        is_folder=is_file and fields.flag("is_folder"),
        ignore_case=is_file and fields.flag("ignore_case"),
        exclusive=fields.flag("exclusive"),
        reason=fields.text("reason") if is_file else "",
        branch=fields.text_or_none("branch"),
        created_ts=fields.time("created_ts"),
        expires_ts=fields.time("expires_ts"),
        released_ts=fields.time_or_none("released_ts"),
        ended_by=fields.choice_or_none("ended_by", EndedBy),
        evidence=fields.mapping_or_none("evidence"),
        fencing=fields.number("fencing"),
    )
    place, rendered = lease_file_of(lease, version)
    require_same(content, fields, rendered, document)
    if path != place:
        raise Unfit("it does not lie where its id and its end say")
    if (lease.released_ts is None) != (lease.ended_by is None):
        raise Unfit("ended_by and released_ts do not go together")
    return lease


def lease_file_of(lease: ArchivedLease, version: int) -> tuple[str, bytes]:
    """Path and content, as rendering makes them of the same values."""
    kind = KIND_OF_EVENT[lease.kind]
    snapshot: dict[str, Any] = {
        "id": lease.id,
        "project": lease.project_key,
        "agent_id": lease.agent_id,
        "agent": lease.agent,
        "path_pattern": lease.path_pattern,
        "is_folder": lease.is_folder,
        "ignore_case": lease.ignore_case,
        "exclusive": lease.exclusive,
        "reason": lease.reason,
        "branch": lease.branch,
        "created_ts": lease.created_ts,
        "expires_ts": lease.expires_ts,
        "released_ts": lease.released_ts,
        "ended_by": None if lease.ended_by is None else lease.ended_by.value,
        "evidence": None if lease.evidence is None else dict(lease.evidence),
        "fencing": lease.fencing,
    }
    return lease_path(kind, lease.id, lease.released_ts, version), lease_file(kind, snapshot)

"""The archive's files of leases: one per lease, which moves to a folder of its month when the lease ends."""

from __future__ import annotations

from typing import Any

from mcp_agent_mail.core.clock import Micros, iso, iso_or_none, to_datetime
from mcp_agent_mail.domain.archive_format.json_text import document
from mcp_agent_mail.domain.archive_format.versions import block_folder
from mcp_agent_mail.domain.events import EventKind
from mcp_agent_mail.domain.leases import Lease, LeaseKind
from mcp_agent_mail.domain.projects import Project

FOLDERS = {EventKind.RESERVATION: "file_reservations", EventKind.SLOT: "build_slots"}
KIND_OF_EVENT = {LeaseKind.FILE: EventKind.RESERVATION, LeaseKind.SLOT: EventKind.SLOT}

Snapshot = dict[str, Any]  # JSON: the keys stand in the functions below


def lease_snapshot(lease: Lease, project: Project, *, lapsed_ts: Micros | None = None) -> Snapshot:
    """`lapsed_ts` is when a lease that is granted anew had ended: its file comes back from there."""
    return {
        "id": lease.id,
        "project": project.human_key,
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
        "lapsed_ts": lapsed_ts,
    }


def stand_in(snapshot: Snapshot) -> Snapshot:
    """A snapshot for an event whose lease is not known any more: it is rendered, and no check takes it as proof."""
    return snapshot | {"is_stand_in": True}


def is_stand_in(snapshot: Snapshot) -> bool:
    return bool(snapshot.get("is_stand_in"))


def lease_changes(kind: EventKind, snapshot: Snapshot, version: int) -> dict[str, bytes | None]:
    """The lease's file where it belongs now; None for where it lay before, if it did."""
    live = lease_path(kind, snapshot["id"], None, version)
    if snapshot["released_ts"] is not None:
        ended = lease_path(kind, snapshot["id"], snapshot["released_ts"], version)
        return {live: None, ended: lease_file(kind, snapshot)}
    changes: dict[str, bytes | None] = {live: lease_file(kind, snapshot)}
    if snapshot["lapsed_ts"] is not None:
        changes[lease_path(kind, snapshot["id"], snapshot["lapsed_ts"], version)] = None
    return changes


def lease_path(kind: EventKind, lease_id: int, released_ts: Micros | None, version: int) -> str:
    """Where the lease's file lies: among the live ones, or once it is released in a block of that month."""
    if released_ts is None:
        return f"{FOLDERS[kind]}/id-{lease_id}.json"
    month = f"{FOLDERS[kind]}/released/{to_datetime(released_ts):%Y/%m}"
    return f"{month}/{block_folder(lease_id, version)}/id-{lease_id}.json"


def lease_file(kind: EventKind, snapshot: Snapshot) -> bytes:
    """The content of a lease's file: the keys that readers are promised, and what a rebuild needs besides."""
    kept = ("id", "project", "agent", "agent_id", "exclusive", "branch", "ended_by", "evidence", "fencing")
    of_files = ("path_pattern", "is_folder", "ignore_case", "reason") if kind is EventKind.RESERVATION else ()
    shown = {key: snapshot[key] for key in (*kept, *of_files)}
    if kind is EventKind.SLOT:
        shown["slot"] = snapshot["path_pattern"]
    return document(
        shown
        | {
            "created_ts": iso(snapshot["created_ts"]),
            "expires_ts": iso(snapshot["expires_ts"]),
            "released_ts": iso_or_none(snapshot["released_ts"]),
        }
    )

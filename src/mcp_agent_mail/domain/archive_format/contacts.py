"""Contacts in the archive's file format: one file per link, `contacts/<from>/<to>.json`.

It lies in the archive of the target's project, and in that of the source's when that is another.
An agent of another project is called `Name@slug` there, as in mail.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mcp_agent_mail.core.clock import iso, iso_or_none
from mcp_agent_mail.core.ids import ProjectId
from mcp_agent_mail.domain.contacts import Contact, Party

CONTACTS_FOLDER = "contacts"

Snapshot = dict[str, Any]  # JSON: the keys stand in the functions below


def contact_snapshot(contact: Contact, project_id: ProjectId, acting: str | None) -> Snapshot:
    """For the archive of `project_id`. `acting` is who did it, for the commit alone."""
    return {
        "archive_project_id": project_id,
        "id": contact.id,
        "source": _party(contact.source),
        "target": _party(contact.target),
        "status": contact.status.value,
        "reason": contact.reason,
        "created_ts": contact.created_ts,
        "updated_ts": contact.updated_ts,
        "expires_ts": contact.expires_ts,
        "acting": acting,
    }


def _party(party: Party) -> dict[str, Any]:
    return {
        "agent_id": party.agent_id,
        "name": party.name,
        "project_id": party.project_id,
        "project_slug": party.project_slug,
        "project": party.project_key,
    }


def contact_path(snapshot: Snapshot, called: Callable[[Mapping[str, Any]], str]) -> str:
    """Where a link's file lies in an archive. `called` gives the name of a party there, fit for a path."""
    return f"{CONTACTS_FOLDER}/{called(snapshot['source'])}/{called(snapshot['target'])}.json"


def contact_document(snapshot: Snapshot) -> dict[str, Any]:
    """What the file says. A link whose `expires_ts` is past is none, whatever its status."""
    source, target = snapshot["source"], snapshot["target"]
    return {
        "id": snapshot["id"],
        "from": source["name"],
        "from_id": source["agent_id"],
        "from_project": source["project"],
        "from_project_id": source["project_id"],
        "to": target["name"],
        "to_id": target["agent_id"],
        "to_project": target["project"],
        "to_project_id": target["project_id"],
        "status": snapshot["status"],
        "reason": snapshot["reason"],
        "created_ts": iso(snapshot["created_ts"]),
        "updated_ts": iso(snapshot["updated_ts"]),
        "expires_ts": iso_or_none(snapshot["expires_ts"]),
    }

"""Overdue notices in the archive's file format: one file per message whose sender was told that acknowledgements do
not come, beside the sender's mail. Who is late does not stand there: that may be a blind recipient.
"""

from __future__ import annotations

from typing import Any

from mcp_agent_mail.core.clock import iso, to_datetime
from mcp_agent_mail.domain.archive_format.json_text import document
from mcp_agent_mail.domain.archive_format.names import safe_name
from mcp_agent_mail.domain.archive_format.versions import block_folder
from mcp_agent_mail.domain.overdue_notices import NotedMessage

OVERDUE_FOLDER = "overdue"

Snapshot = dict[str, Any]  # JSON: the keys stand in the functions below


def overdue_snapshot(noted: NotedMessage) -> Snapshot:
    """For the archive of the sender's project. The notice lies in the month of its message, not in that of its own."""
    return {
        "id": noted.message_id,
        "created_ts": noted.created_ts,
        "sender": noted.sender,
        "noted_ts": noted.noted_ts,
        "escalation": noted.escalation,
    }


def overdue_notice_file(snapshot: Snapshot, version: int) -> tuple[str, bytes]:
    """Path and content of one notice."""
    month = f"{to_datetime(snapshot['created_ts']):%Y/%m}"
    block = block_folder(snapshot["id"], version)
    path = f"agents/{safe_name(snapshot['sender'])}/{OVERDUE_FOLDER}/{month}/{block}/id-{snapshot['id']}.json"
    return path, overdue_content(snapshot)


def overdue_content(snapshot: Snapshot) -> bytes:
    """What the file says; month and sender stand in its path alone."""
    return document(
        {
            "message_id": snapshot["id"],
            "noted_ts": iso(snapshot["noted_ts"]),
            "escalation": snapshot["escalation"],
        }
    )

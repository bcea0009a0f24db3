"""What the counts that stand with each agent count: by these words they are checked, and made anew."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

DELIVERED = "r.agent_id = agents.id AND r.delivery_seq IS NOT NULL"
UNREAD = f"{DELIVERED} AND r.read_ts IS NULL AND r.expired_ts IS NULL"
_OF_INBOX = "SELECT count(*) FROM recipients r WHERE"

COUNTS: Mapping[str, str] = MappingProxyType(
    {
        "inbox_count": f"{_OF_INBOX} {DELIVERED}",
        "unread_count": f"{_OF_INBOX} {UNREAD}",
        "urgent_unread_count": f"{_OF_INBOX} {UNREAD} AND r.urgent = 1",
        "ack_pending_count": f"{_OF_INBOX} {DELIVERED} AND r.ack_required = 1 AND r.ack_ts IS NULL "
        "AND r.expired_ts IS NULL",
        "open_unread_count": f"""
        SELECT count(*) FROM recipients r
        JOIN message_projects mp ON mp.project_id = agents.project_id AND mp.message_id = r.message_id
        WHERE {UNREAD} AND r.kind <> 'bcc'""",
    }
)
"""By column of `agents`: the query for the one agent of the row."""

RECOUNT = f"UPDATE agents SET {', '.join(f'{column} = ({query})' for column, query in COUNTS.items())}"
"""All counts of those agents that a WHERE behind it names."""

"""Mailboxes that one door owns in one project: how much of their mail was read long ago, and what is left beside it."""

from __future__ import annotations

from typing import Any, NamedTuple

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import AgentId, ProjectId
from mcp_agent_mail.domain.doors.names import Door
from mcp_agent_mail.store.engine.port import Connection, LongReader, TimeBound

MAX_MAILBOXES = 1_000

_COPIES = "SELECT {what} FROM recipients r WHERE r.agent_id = n.agent_id AND r.delivery_seq IS NOT NULL"
_OWNED = f"""
SELECT n.agent_id, n.name, a.last_active_ts, a.unread_count,
       ({_COPIES.format(what="count(*)")} AND r.read_ts > :after AND r.read_ts <= :before),
       EXISTS ({_COPIES.format(what="1")} AND r.read_ts > :before)
FROM wire_names n JOIN agents a ON a.id = n.agent_id
WHERE n.project_id = :project AND n.owner = :door AND a.retired_ts IS NULL
ORDER BY n.id LIMIT {MAX_MAILBOXES}
"""


class OwnedMailbox(NamedTuple):
    """`long_read` are the messages read in the time asked for, `has_later` says whether any was read after it."""

    agent_id: AgentId
    name: str
    last_active_ts: Micros
    unread: int
    long_read: int
    has_later: bool


async def list_owned(
    store: LongReader, project_id: ProjectId, door: Door, *, read_after: Micros, read_before: Micros
) -> list[OwnedMailbox]:
    """Those that have not retired, MAX_MAILBOXES at most."""
    values = {"project": project_id, "door": door.value, "after": read_after, "before": read_before}

    def read(connection: Connection, _bound: TimeBound) -> list[Any]:
        return connection.execute(_OWNED, values).fetchall()

    rows = await store.long_read(read)
    return [
        OwnedMailbox(AgentId(row[0]), row[1], Micros(row[2]), int(row[3]), int(row[4]), bool(row[5])) for row in rows
    ]

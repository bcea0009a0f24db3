"""Copies whose time has passed and whose end nobody has written down yet: queries take them for ended all the same.

Ends are written down some at a time (`store/mail/message_events.py`), since each stands in feeds, counts and archives.
So for a while, or as long as the store cannot be written, rows lag behind what is true.
"""

from __future__ import annotations

from typing import NamedTuple

from mcp_agent_mail.core.ids import AgentId
from mcp_agent_mail.store.engine.port import Connection


def still_valid(row: str = "") -> str:
    """The SQL condition that a copy may still be read, of a row that is no end yet. What was read in time may always
    be. `row`: the table's alias.
    """
    at = f"{row}." if row else ""
    return f"({at}valid_until_ts IS NULL OR {at}read_ts IS NOT NULL OR {at}valid_until_ts > unit_now())"


def true_end(row: str) -> str:
    """SQL for when a copy expired, also one whose end is not written down."""
    is_open = f"{row}.withdrawn_ts IS NULL AND {row}.refused_ts IS NULL"
    return f"""coalesce({row}.expired_ts,
           CASE WHEN {is_open} AND NOT {still_valid(row)} THEN {row}.valid_until_ts END)"""


ANY_ENDS_LEFT = """EXISTS (
    SELECT 1 FROM recipients INDEXED BY recipients_valid
    WHERE valid_until_ts IS NOT NULL AND valid_until_ts <= unit_now() AND read_ts IS NULL AND expired_ts IS NULL
      AND withdrawn_ts IS NULL AND refused_ts IS NULL)"""
"""SQL for whether any copy's time has passed and its end is not written down: one probe of an index."""
_ANY_LEFT = f"SELECT {ANY_ENDS_LEFT}"
_PASSED = f"""
SELECT count(*), coalesce(sum(r.ack_required = 1 AND r.ack_ts IS NULL), 0), coalesce(sum(r.urgent = 1), 0),
       coalesce(sum(r.kind <> 'bcc' AND EXISTS (
           SELECT 1 FROM agents a JOIN message_projects mp ON mp.project_id = a.project_id
           WHERE a.id = r.agent_id AND mp.message_id = r.message_id)), 0)
FROM recipients r INDEXED BY recipients_unread
WHERE r.agent_id = ? AND r.delivery_seq IS NOT NULL AND r.read_ts IS NULL AND r.expired_ts IS NULL
  AND NOT {still_valid("r")}
"""


class EndCounts(NamedTuple):
    """How many copies an agent's counts still hold whose time has passed; `open`: of those that others may know of."""

    unread: int
    ack_pending: int
    urgent_unread: int
    open: int


_NONE = EndCounts(0, 0, 0, 0)


def passed_copies(connection: Connection, agent_id: AgentId) -> EndCounts:
    """One probe of an index, but while there are ends to be written down: then as dear as the agent's unread mail."""
    if not connection.execute(_ANY_LEFT).fetchone()[0]:
        return _NONE
    return EndCounts._make(connection.execute(_PASSED, (agent_id,)).fetchone())

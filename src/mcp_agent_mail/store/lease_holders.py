"""Holders: who has leases at all, and what their mail tells of when they were last at work."""

from __future__ import annotations

from collections.abc import Iterator

from mcp_agent_mail.core.clock import Micros
from mcp_agent_mail.core.ids import AgentId
from mcp_agent_mail.store.engine.port import Connection

_NEXT = """
    SELECT agent_id FROM leases INDEXED BY leases_of_agent
    WHERE released_ts IS NULL AND agent_id > ? ORDER BY agent_id, id LIMIT 1
"""
# What this says is shown to others: held mail and blind copies must not move it.
_LAST_SENT = """
    SELECT created_ts FROM messages m INDEXED BY messages_sender
    WHERE sender_id = :agent AND id >= coalesce((
        SELECT id FROM messages INDEXED BY messages_sender WHERE sender_id = :agent
        ORDER BY id DESC LIMIT 1 OFFSET :looked_at - 1
    ), 0) AND EXISTS (SELECT 1 FROM message_projects mp WHERE mp.project_id = m.project_id AND mp.message_id = m.id)
    ORDER BY id DESC LIMIT 1
"""
_RECENTLY_SEEN = """
    SELECT max(read_ts), max(ack_ts) FROM (
        SELECT read_ts, ack_ts, kind FROM recipients INDEXED BY recipients_inbox
        WHERE agent_id = ? AND delivery_seq IS NOT NULL ORDER BY delivery_seq DESC LIMIT ?
    ) AS mail WHERE kind <> 'bcc'
"""
_LOOKED_AT = 50
"""Of the newest that it sent, and of its inbox. Marking an older one tells too: as a call of its own."""


class Holders:
    """Agents with leases that have not ended, and when their mail last told of them."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def after(self, agent_id: int) -> Iterator[AgentId]:
        """Every agent with a lease that has not ended, in all projects, by id: one index probe each."""
        while (row := self._connection.execute(_NEXT, (agent_id,)).fetchone()) is not None:
            (agent_id,) = row
            yield AgentId(agent_id)

    def last_mail_ts(self, agent_id: AgentId) -> Micros | None:
        """When it last sent mail, or marked some of its newest read or acknowledged, as far as others may know."""
        sent = self._connection.execute(_LAST_SENT, {"agent": agent_id, "looked_at": _LOOKED_AT}).fetchone()
        seen = self._connection.execute(_RECENTLY_SEEN, (agent_id, _LOOKED_AT)).fetchone()
        times = [at for at in (*(sent or ()), *seen) if at is not None]
        return Micros(max(times)) if times else None
